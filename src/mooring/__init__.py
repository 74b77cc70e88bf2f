"""Mooring: the Kubernetes scheduling framework in Python.

This module is the public face: the plugin contract, and `main`, which is loaded only when used.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

# The collector would visit all objects of the program, such as those of pytest, while thousands of
# objects are made here that stay: that takes longer than the imports themselves.
_COLLECTS = gc.isenabled()
gc.disable()
try:
    from mooring.api.labels import Requirement, Selector
    from mooring.errors import ApiError, ConfigError, MooringError, ObjectError, PluginError
    from mooring.framework.cluster_events import (
        ActionType,
        ClusterEvent,
        EventResource,
        QueueingHint,
    )
    from mooring.framework.diagnosis import Detail, Shortfall
    from mooring.framework.handle import Handle
    from mooring.framework.node_info import NodeInfo
    from mooring.framework.nodes import Nodes
    from mooring.framework.plugin import (
        MAX_NODE_SCORE,
        MIN_NODE_SCORE,
        Nominate,
        Plugin,
        PreFlight,
    )
    from mooring.framework.pod_info import PodInfo
    from mooring.framework.queued import QueuedPod
    from mooring.framework.state import CycleState
    from mooring.framework.status import Code, Status
finally:
    if _COLLECTS:
        gc.enable()

if TYPE_CHECKING:
    from mooring.cli.main import main

__version__ = "0.2.0"

__all__ = [
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "ActionType",
    "ApiError",
    "ClusterEvent",
    "Code",
    "ConfigError",
    "CycleState",
    "Detail",
    "EventResource",
    "Handle",
    "MooringError",
    "NodeInfo",
    "Nodes",
    "Nominate",
    "ObjectError",
    "Plugin",
    "PluginError",
    "PodInfo",
    "PreFlight",
    "QueuedPod",
    "QueueingHint",
    "Requirement",
    "Selector",
    "Shortfall",
    "Status",
    "__version__",
    "main",
]


def __getattr__(name: str) -> Any:
    """Resolve `main` on first use, so that `from mooring import Plugin` loads no server."""
    if name == "main":
        from mooring.cli.main import main

        return main
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
