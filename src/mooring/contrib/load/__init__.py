"""Measured load of nodes: where it comes from, and how plugins read it."""

from mooring.contrib.load.load_args import LoadArgs
from mooring.contrib.load.load_source import LoadSource

__all__ = ["LoadArgs", "LoadSource"]
