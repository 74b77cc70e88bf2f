"""What a recording shows of the state that a plugin keeps, read from the plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.api import PodGroup, pod_group_key
from mooring.framework.plugin import Plugin
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.conformance.contrib.cluster import only_profile


def _plugin(scheduler: MemoryScheduler, name: str) -> Any:
    found: Plugin = only_profile(scheduler).plugins[name]
    return found


def _used(scheduler: MemoryScheduler) -> dict[str, Any]:
    """Return the usage of each quota's namespace (CapacityScheduling)."""
    usage = _plugin(scheduler, "CapacityScheduling").usage()
    return {namespace: _amounts(dict(used)) for namespace, used in usage.items()}


def _amounts(used: dict[str, int]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "cpuMilli": used.pop("cpu", 0),
        "memory": used.pop("memory", 0),
        "ephemeralStorage": used.pop("ephemeral-storage", 0),
        "pods": used.pop("pods", 0),
    }
    return {**entry, "scalar": used} if used else entry


def _assigned(scheduler: MemoryScheduler) -> dict[str, int]:
    """Return the number of assigned members of each group (Coscheduling)."""
    plugin = _plugin(scheduler, "Coscheduling")
    groups = {group.key for group in scheduler.cluster.store(PodGroup).list()}
    groups |= {key for pod in scheduler.cluster.pods.list() if (key := pod_group_key(pod))}
    return {key: plugin.assigned(key) for key in groups}


#: By field of a recording.
OBSERVERS: dict[str, Callable[[MemoryScheduler], Any]] = {"used": _used, "assigned": _assigned}
