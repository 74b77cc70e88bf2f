"""Inter-pod affinity."""

from __future__ import annotations

from mooring.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
