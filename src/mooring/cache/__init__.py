"""The scheduler's view of the cluster: nodes, pods and assumed pods, as columns and counters."""

from mooring.cache.cache import Cache

__all__ = ["Cache"]
