"""Tools for plugin authors: builders, runs of a plugin without a cluster, and check_plugin."""

from __future__ import annotations

from mooring.testing.builders import make_node, make_pod
from mooring.testing.check import CheckReport, check_plugin
from mooring.testing.plugin_runs import FilterResult, ScoreResult, run_cycle, run_filter, run_score

__all__ = [
    "CheckReport",
    "FilterResult",
    "ScoreResult",
    "check_plugin",
    "make_node",
    "make_pod",
    "run_cycle",
    "run_filter",
    "run_score",
]
