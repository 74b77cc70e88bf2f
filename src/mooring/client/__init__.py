"""Talking to an API server: finding it, being someone to it, asking it."""
