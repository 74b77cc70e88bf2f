"""Subresources with their own behaviour: binding, eviction, scale, log, token."""
