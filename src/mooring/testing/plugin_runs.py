"""Running a plugin, or the whole scheduler, on a few pods and nodes: no cluster, no waiting."""

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
    """What a plugin's PreFilter and Filter said."""

    #: Every node's answer, in the order of the nodes; None where it passes.
    statuses: dict[str, Status | None]

    @property
    def feasible(self) -> list[str]:
        """Return the names of the nodes that pass."""
        return [name for name, status in self.statuses.items() if status is None]

    @property
    def reasons(self) -> Counter[str]:
        """Count the reasons; a node counts once for each of its own."""
        refusals = (status for status in self.statuses.values() if status is not None)
        return Counter(reason for status in refusals for reason in status.reasons)


class ScoreResult(msgspec.Struct, frozen=True):
    """What a plugin's Score said of the nodes that pass its own Filter."""

    raw: dict[str, int]
    #: After NormalizeScore, from 0 to 100; the same as `raw` where the plugin does not normalise.
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
    """Ask one plugin, by itself, which nodes can take a pod.

    `pods` are other pods, those on nodes among them; `objects` are other objects that the plugin
    may ask for. `args` is what a configuration file would say, or the plugin's Args. A plugin that
    raises or answers with the wrong type is a PluginError.
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
    """Ask one plugin, by itself, how good each node is for a pod.

    Where it filters too, only the nodes that pass are scored. The other arguments are those of
    `run_filter`. Where PreScore steps aside, the result is empty.
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
    Without `config`, `plugins` run beside the built-in ones at every point they implement; with it,
    where it names them. Nothing waits: time passes on a virtual clock.
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
    # A pod that names its node is asked about, not there.
    pending = [] if pod is None or pod.node_name else [pod]
    return checked_objects([*nodes, *objects, *pods, *pending])
