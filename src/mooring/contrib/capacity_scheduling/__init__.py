"""CapacityScheduling: quotas of namespaces that may borrow what others do not use."""

from mooring.contrib.capacity_scheduling.plugin import CapacityScheduling

__all__ = ["CapacityScheduling"]
