"""Tools for plugin authors: builders, runs of a plugin without a cluster, and check_plugin.

What runs the whole scheduler is loaded on first use, so that a test of one plugin starts fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mooring.testing.builders import make_composite_pod_group, make_node, make_pod, make_pod_group
from mooring.testing.check import CheckReport, check_plugin
from mooring.testing.plugin_runs import FilterResult, ScoreResult, run_filter, run_score

if TYPE_CHECKING:
    from mooring.testing.cycle_runs import run_cycle

__all__ = [
    "CheckReport",
    "FilterResult",
    "ScoreResult",
    "check_plugin",
    "make_composite_pod_group",
    "make_node",
    "make_pod",
    "make_pod_group",
    "run_cycle",
    "run_filter",
    "run_score",
]


def __getattr__(name: str) -> Any:
    """Load the whole scheduler when `run_cycle` is asked for."""
    if name == "run_cycle":
        from mooring.testing.cycle_runs import run_cycle

        return run_cycle
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
