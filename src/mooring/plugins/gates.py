"""The feature gates a plugin runs under."""

from __future__ import annotations

from mooring.framework.features import FeatureGates
from mooring.framework.handle import Handle


def gates_of(handle: Handle | None) -> FeatureGates:
    """Return the scheduler's gates, or the defaults if a plugin has no handle."""
    return FeatureGates() if handle is None else handle.features
