"""Which pod is next, and which pods wait for room on which nodes."""
