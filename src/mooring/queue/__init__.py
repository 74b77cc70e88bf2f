"""The scheduling queue: pending pods, the order to try them in, and their nominated nodes."""
