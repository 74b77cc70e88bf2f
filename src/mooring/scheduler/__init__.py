"""The engine: the loop that takes pods from the queue, one attempt, and what the loop is told."""
