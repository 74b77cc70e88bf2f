"""The metrics of a scheduler, as the emulated release shows them."""

from __future__ import annotations

from mooring.framework.features import FeatureGates
from mooring.observe.metrics import Metrics


def make_metrics(features: FeatureGates) -> Metrics:
    """Return new metrics; those of feature gates that are off are not exposed."""
    return Metrics(features.enabled, as_in_1_36=features.release.older_metrics)
