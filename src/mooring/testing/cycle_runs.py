"""Runs of the whole scheduler on a few pods and nodes, without a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, overload

from mooring.api import CompositePodGroup, KubeObject, Node, Pod, WorkloadPodGroup
from mooring.config import LoadResult, load_config_data
from mooring.config.rules import resolve_config
from mooring.framework.decision import Decision
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.registry import default_registry
from mooring.testing.plugin_runs import cluster_of
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation import schedule_all

#: A configuration file's path, its content as data, or a loaded configuration.
ConfigLike = str | os.PathLike[str] | Mapping[str, Any] | LoadResult


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

    A pod group or composite pod group among `objects` turns on the gates that it needs, unless
    `features` names them. A pod of a group is tried together with all pods of the group that have
    no node; if the group is part of a tree, with those of the whole tree. `Decision.group` then
    shows what was tried: the placements, and the groups of the tree in each placement.
    """
    found = list(pods)
    others = list(objects)
    gates = FeatureGates({**_gates_of(others), **(features or {})})
    chosen = list(plugins)
    registry = default_registry(chosen)
    scheduler = MemoryScheduler(
        cluster_of(pod, nodes, found, others),
        config=_load(config, registry, gates, chosen),
        registry=registry,
        features=gates,
    )
    scheduler.recorder.examines_groups = True
    if pod is not None:
        _check_served(scheduler, pod)
        return drive(_schedule(scheduler, pod))
    pending = [one for one in found if not one.node_name]
    for one in pending:
        _check_served(scheduler, one)
    outcomes = drive(schedule_all(scheduler))
    return [outcomes.decisions[one.uid] for one in pending]


async def _schedule(scheduler: MemoryScheduler, pod: Pod) -> Decision:
    if scheduler.is_grouped(pod):
        decision = await scheduler.schedule_group_of(pod)
    else:
        decision = await scheduler.schedule_one(pod)
    while await scheduler.expire_waits():
        pass
    return decision


def _gates_of(objects: Iterable[KubeObject]) -> dict[str, bool]:
    """Return the gates that pod groups and composite pod groups among the objects need."""
    groups = [one for one in objects if isinstance(one, WorkloadPodGroup | CompositePodGroup)]
    gates = {"GenericWorkload": True} if groups else {}
    composites = any(isinstance(group, CompositePodGroup) for group in groups)
    if composites:
        gates["CompositePodGroup"] = True
    if composites or any(group.topology_key for group in groups):
        gates["TopologyAwareWorkloadScheduling"] = True
    return gates


def _load(
    config: ConfigLike | None, registry: Any, gates: FeatureGates, plugins: list[type[Plugin]]
) -> LoadResult:
    if isinstance(config, LoadResult):
        return config
    if isinstance(config, Mapping):
        return load_config_data(dict(config), registry=registry, feature_gates=gates)
    return resolve_config(config, plugins, registry, gates)


def _check_served(scheduler: MemoryScheduler, pod: Pod) -> None:
    name = pod.spec.scheduler_name
    if name not in scheduler.profiles:
        raise ValueError(
            f"pod {pod.key} names the scheduler {name}, and the profiles are: "
            f"{', '.join(scheduler.profiles)}"
        )
