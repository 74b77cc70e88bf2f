"""The client of an API server: finding it, authenticating, and sending requests."""
