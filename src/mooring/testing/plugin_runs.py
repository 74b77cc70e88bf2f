"""Runs of a plugin, or of the whole scheduler, on a few pods and nodes without a cluster."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, overload

import msgspec
import numpy as np

from mooring.api import KubeObject, Node, Pod
from mooring.config import LoadResult, default_config, load_config, load_config_data
from mooring.framework.decision import Decision
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.offline.backlog import schedule_all
from mooring.offline.memory_scheduler import MemoryScheduler, drive
from mooring.registry import default_registry
from mooring.testing.bench import Workbench, checked_objects

#: A configuration file's path, its content as data, or a loaded configuration.
ConfigLike = str | os.PathLike[str] | Mapping[str, Any] | LoadResult


class FilterResult(msgspec.Struct, frozen=True):
    """The answers of a plugin's PreFilter and Filter."""

    #: The answer for every node, in the order of the nodes; None if the node passes.
    statuses: dict[str, Status | None]

    @property
    def feasible(self) -> list[str]:
        """Return the names of the nodes that pass."""
        return [name for name, status in self.statuses.items() if status is None]

    @property
    def reasons(self) -> Counter[str]:
        """Return how many nodes were refused for each reason."""
        refusals = (status for status in self.statuses.values() if status is not None)
        return Counter(reason for status in refusals for reason in status.reasons)


class ScoreResult(msgspec.Struct, frozen=True):
    """The scores of a plugin for the nodes that pass its own Filter."""

    raw: dict[str, int]
    #: After NormalizeScore, from 0 to 100; the same as `raw` if the plugin does not normalise.
    normalized: dict[str, int]

    @property
    def best(self) -> list[str]:
        """Return the names of the nodes with the highest normalised score."""
        top = max(self.normalized.values(), default=0)
        return [name for name, score in self.normalized.items() if score == top]


def run_filter(
    plugin: type[Plugin] | Plugin,
    *,
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    args: Any = None,
    features: Mapping[str, bool] | None = None,
) -> FilterResult:
    """Run one plugin alone and return which nodes it allows for a pod.

    `pods` are other pods, on nodes or pending; `objects` are other objects that the plugin may
    read. `args` is what a configuration file would contain, or the plugin's Args. Raise
    PluginError if the plugin raises or returns the wrong type.
    """
    workbench = Workbench(plugin, args=args, features=features)
    bench = workbench.place(_cluster(pod, nodes, pods, objects))
    answers = bench.filter(CycleState(), pod)
    return FilterResult(dict(zip(bench.nodes.names, answers, strict=True)))


def run_score(
    plugin: type[Plugin] | Plugin,
    *,
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    args: Any = None,
    features: Mapping[str, bool] | None = None,
) -> ScoreResult:
    """Run one plugin alone and return its scores of the nodes for a pod.

    If the plugin filters too, only the nodes that pass are scored. The arguments are those of
    `run_filter`. If PreScore returns Skip, the result is empty.
    """
    workbench = Workbench(plugin, args=args, features=features)
    bench = workbench.place(_cluster(pod, nodes, pods, objects))
    state = CycleState()
    answers = bench.filter(state, pod)
    feasible = bench.nodes.where(np.array([answer is None for answer in answers], dtype=np.bool_))
    found = bench.rank(state, pod, feasible).scores.get(bench.plugin.name)
    if found is None:
        return ScoreResult({}, {})
    names = feasible.names
    return ScoreResult(
        dict(zip(names, found.raw.tolist(), strict=True)),
        dict(zip(names, found.normalized.tolist(), strict=True)),
    )


@overload
def run_cycle(
    *,
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    plugins: Iterable[type[Plugin]] = (),
    config: ConfigLike | None = None,
    features: Mapping[str, bool] | None = None,
) -> Decision: ...


@overload
def run_cycle(
    *,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    objects: Iterable[KubeObject] = (),
    plugins: Iterable[type[Plugin]] = (),
    config: ConfigLike | None = None,
    features: Mapping[str, bool] | None = None,
) -> list[Decision]: ...


def run_cycle(
    *,
    pod: Pod | None = None,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    plugins: Iterable[type[Plugin]] = (),
    config: ConfigLike | None = None,
    features: Mapping[str, bool] | None = None,
) -> Decision | list[Decision]:
    """Run the whole scheduler in memory, every point up to PostBind.

    With `pod`, try that pod once and return the decision. Without, schedule the pods that have no
    node yet as `mooring schedule` does, and return the last decision on each in the order given.
    Without `config`, `plugins` run in addition to the built-in ones at every point they implement;
    with it, at the points where it enables them. Nothing waits: the clock is virtual.
    """
    found = list(pods)
    gates = FeatureGates(features)
    chosen = list(plugins)
    registry = default_registry(chosen)
    scheduler = MemoryScheduler(
        _cluster(pod, nodes, found, objects),
        config=_load(config, registry, gates, chosen),
        registry=registry,
        features=gates,
    )
    if pod is not None:
        _check_served(scheduler, pod)
        return drive(_schedule(scheduler, pod))
    pending = [one for one in found if not one.node_name]
    for one in pending:
        _check_served(scheduler, one)
    outcomes = drive(schedule_all(scheduler))
    return [outcomes.decisions[one.uid] for one in pending]


async def _schedule(scheduler: MemoryScheduler, pod: Pod) -> Decision:
    decision = await scheduler.schedule_one(pod)
    while await scheduler.expire_waits():
        pass
    return decision


def _load(
    config: ConfigLike | None, registry: Any, gates: FeatureGates, plugins: list[type[Plugin]]
) -> LoadResult:
    if config is None:
        names = [plugin.name for plugin in plugins]
        return default_config(registry=registry, feature_gates=gates, enabled=names)
    if isinstance(config, LoadResult):
        return config
    if isinstance(config, Mapping):
        return load_config_data(dict(config), registry=registry, feature_gates=gates)
    return load_config(config, registry=registry, feature_gates=gates)


def _check_served(scheduler: MemoryScheduler, pod: Pod) -> None:
    name = pod.spec.scheduler_name
    if name not in scheduler.profiles:
        raise ValueError(
            f"pod {pod.key} names the scheduler {name}, and the profiles are: "
            f"{', '.join(scheduler.profiles)}"
        )


def _cluster(
    pod: Pod | None,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    objects: Iterable[KubeObject],
) -> list[KubeObject]:
    # A pod that names its node is passed to the plugin but not added to the cluster.
    pending = [] if pod is None or pod.node_name else [pod]
    return checked_objects([*nodes, *objects, *pods, *pending])
