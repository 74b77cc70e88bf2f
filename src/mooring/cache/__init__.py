"""What the scheduler believes: nodes, pods and assumed pods, kept as columns and counters."""

from mooring.cache.cache import Cache

__all__ = ["Cache"]
