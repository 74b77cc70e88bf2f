"""Decisions explained: what each plugin said of each node, and how the node was chosen."""
