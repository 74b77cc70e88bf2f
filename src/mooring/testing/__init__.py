"""For plugin authors: builders, ways to run a plugin without a cluster, and check_plugin."""

from __future__ import annotations

from mooring.testing.builders import make_node, make_pod
from mooring.testing.check import Report, check_plugin
from mooring.testing.running import FilterResult, ScoreResult, run_cycle, run_filter, run_score

__all__ = [
    "FilterResult",
    "Report",
    "ScoreResult",
    "check_plugin",
    "make_node",
    "make_pod",
    "run_cycle",
    "run_filter",
    "run_score",
]
