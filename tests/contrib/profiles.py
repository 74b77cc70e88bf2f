"""Configurations that enable plugins of contrib, and schedulers in memory that run them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.api import KubeObject
from mooring.config.load import load_config_data
from mooring.cycle.scheduling_cycle import by_name
from mooring.observe.clock import VirtualClock
from mooring.registry import default_registry
from mooring.virtual.memory_scheduler import MemoryScheduler

#: The time at which schedulers in memory begin.
START = 1_800_000_000.0


def configuration(
    *plugins: str, disabled: Iterable[str] = (), args: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a configuration whose one profile runs plugins beside the default ones."""
    multi_point = {
        "enabled": [{"name": name} for name in plugins],
        "disabled": [{"name": name} for name in disabled],
    }
    profile: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        "plugins": {"multiPoint": multi_point},
    }
    if args is not None:
        profile["pluginConfig"] = [{"name": name, "args": one} for name, one in args.items()]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def make_scheduler(config: dict[str, Any], objects: Iterable[KubeObject]) -> MemoryScheduler:
    """Return a scheduler in memory with a configuration and a cluster."""
    registry = default_registry()
    loaded = load_config_data(config, registry=registry)
    clock = VirtualClock(START)
    return MemoryScheduler(objects, config=loaded, registry=registry, clock=clock, choose=by_name)
