"""Pod topology spread."""

from __future__ import annotations

from mooring.plugins.pod_topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]
