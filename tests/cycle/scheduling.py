"""Schedulers for tests of the cycle: a few nodes, and only the plugins under test."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.api import KubeObject, Node, Pod
from mooring.config.load import load_config_data
from mooring.cycle.scheduling_cycle import by_name
from mooring.framework.decision import Decision
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.plugins.default_binder import DefaultBinder
from mooring.plugins.priority_sort import PrioritySort
from mooring.registry import Registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

ZONE = "topology.kubernetes.io/zone"


def make_node(name: str, zone: str = "") -> Node:
    labels = {ZONE: zone} if zone else {}
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}, Node
    )


def make_pod(name: str = "web", *, priority: int = 0, node: str = "", nominated: str = "") -> Pod:
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {
                "schedulerName": "default-scheduler",
                "priority": priority,
                "nodeName": node,
                "containers": [{"name": "main"}],
            },
            "status": {"nominatedNodeName": nominated},
        },
        Pod,
    )


def make_nodes(*names: str) -> list[Node]:
    return [make_node(name) for name in names]


def make_scheduler(
    plugins: Sequence[type[Plugin]],
    objects: Iterable[KubeObject],
    *,
    weights: dict[str, int] | None = None,
    percentage: int | None = None,
    choose: Any = by_name,
    binder: bool = True,
    reuse: bool | None = None,
) -> MemoryScheduler:
    """Return a scheduler whose one profile runs these plugins, in order, at all their points."""
    used: list[type[Plugin]] = [PrioritySort, *plugins]
    if binder:
        used.append(DefaultBinder)
    registry = Registry(used)
    enabled = [
        {"name": plugin.name, **({"weight": weights[plugin.name]} if weights else {})}
        for plugin in plugins
    ]
    enabled += [{"name": plugin.name} for plugin in used if plugin not in plugins]
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}},
            }
        ],
    }
    if percentage is not None:
        config["percentageOfNodesToScore"] = percentage
    loaded = load_config_data(config, registry=registry, feature_gates=FeatureGates())
    return MemoryScheduler(objects, config=loaded, registry=registry, choose=choose, reuse=reuse)


def decide(
    plugins: Sequence[type[Plugin]], nodes: Iterable[Node], pod: Pod | None = None, **options: Any
) -> Decision:
    """Run one scheduling cycle with these plugins."""
    examine = options.pop("examine", False)
    scheduler = make_scheduler(plugins, nodes, **options)
    return scheduler.cycle.run_sync(pod or make_pod(), examine=examine)


def refuse(*names: str, status: Status | None = None, called: str = "Refuse") -> type[Plugin]:
    """Return a plugin, vector form only, that refuses the nodes of these names."""
    answer = status or Status.unschedulable(f"{called} said no")

    class Refuse(Plugin):
        name = called

        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            yield answer, np.array([name in names for name in nodes.names], dtype=np.bool_)

    return Refuse


def refuse_each(*names: str, status: Status | None = None, called: str = "Refuse") -> type[Plugin]:
    """Return a plugin, node form only, that refuses the nodes of these names."""
    answer = status or Status.unschedulable(f"{called} said no")

    class Refuse(Plugin):
        name = called

        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            return answer if node.name in names else None

    return Refuse


def plugin(called: str, **methods: Any) -> type[Plugin]:
    """Return a plugin with these methods; each is called without `self`."""

    def without_self(name: str, method: Any) -> Any:
        def call(self: Any, *args: Any) -> Any:
            return method(*args)

        given = inspect.signature(method)
        self = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [
            parameter.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            else parameter
            for parameter in given.parameters.values()
        ]
        call.__signature__ = given.replace(parameters=[self, *parameters])  # type: ignore[attr-defined]
        call.__name__ = name
        return call

    body = {name: without_self(name, method) for name, method in methods.items()}
    return type(called, (Plugin,), {"name": called, **body})


__all__ = [
    "decide",
    "drive",
    "make_node",
    "make_nodes",
    "make_pod",
    "make_scheduler",
    "plugin",
    "refuse",
    "refuse_each",
]
