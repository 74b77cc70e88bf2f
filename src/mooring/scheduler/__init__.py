"""The engine: the scheduling loop, one scheduling attempt, and the handlers of cluster events."""
