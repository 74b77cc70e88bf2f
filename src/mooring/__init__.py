"""Mooring: the Kubernetes scheduling framework in Python.

This module is the public face: the plugin contract, and `main`. A name is loaded when it is first
used, so that a command which prints its help does not load the contract.
"""

from __future__ import annotations

import gc
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mooring.api.labels import Requirement, Selector
    from mooring.cli.main import main
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

#: The module of each name.
_HOMES = {
    "ActionType": "framework.cluster_events",
    "ApiError": "errors",
    "ClusterEvent": "framework.cluster_events",
    "Code": "framework.status",
    "ConfigError": "errors",
    "CycleState": "framework.state",
    "Detail": "framework.diagnosis",
    "EventResource": "framework.cluster_events",
    "Handle": "framework.handle",
    "MAX_NODE_SCORE": "framework.plugin",
    "MIN_NODE_SCORE": "framework.plugin",
    "MooringError": "errors",
    "NodeInfo": "framework.node_info",
    "Nodes": "framework.nodes",
    "Nominate": "framework.plugin",
    "ObjectError": "errors",
    "Plugin": "framework.plugin",
    "PluginError": "errors",
    "PodInfo": "framework.pod_info",
    "PreFlight": "framework.plugin",
    "QueuedPod": "framework.queued",
    "QueueingHint": "framework.cluster_events",
    "Requirement": "api.labels",
    "Selector": "api.labels",
    "Shortfall": "framework.diagnosis",
    "Status": "framework.status",
    "main": "cli.main",
}
#: What the contract consists of: `import mooring` is enough to use these packages too.
_PACKAGES = ("api", "errors", "framework", "observe", "typing")


def __getattr__(name: str) -> Any:
    """Load the module of a name of the public face, when the name is first used."""
    if name in _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The collector would visit all objects of the program, such as those of pytest, while
    # thousands of objects are made here that stay: that takes longer than the imports themselves.
    collects = gc.isenabled()
    gc.disable()
    try:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    finally:
        if collects:
            gc.enable()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names that are loaded, and those of the public face that are not yet."""
    return sorted({*globals(), *__all__})
