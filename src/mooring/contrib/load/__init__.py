"""Measured load of nodes: where it comes from, and how plugins read it."""

from mooring.contrib.load.load_source import LoadArgs, LoadSource

__all__ = ["LoadArgs", "LoadSource"]
