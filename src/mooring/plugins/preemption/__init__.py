"""DefaultPreemption: make room for a pod by removing less important ones."""

from mooring.plugins.preemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption"]
