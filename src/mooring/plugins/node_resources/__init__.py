"""NodeResourcesFit and NodeResourcesBalancedAllocation."""

from mooring.plugins.node_resources.balanced_allocation import BalancedAllocation
from mooring.plugins.node_resources.fit import Fit

__all__ = ["BalancedAllocation", "Fit"]
