"""For plugin authors: builders, and ways to run a plugin without a cluster."""

from __future__ import annotations

from mooring.testing.builders import make_node, make_pod
from mooring.testing.running import FilterResult, ScoreResult, run_cycle, run_filter, run_score

__all__ = [
    "FilterResult",
    "ScoreResult",
    "make_node",
    "make_pod",
    "run_cycle",
    "run_filter",
    "run_score",
]
