"""What if: the consequences of a change of a cluster, computed on a copy of its objects.

Every question is answered by schedulers in memory: nothing reaches the cluster, nor the scheduler
whose objects are copied. Ties are broken by name, so that the same question gets the same answer.
The functions take seconds in a large cluster: call them in a thread, not on an event loop. A
`progress` that raises an exception ends them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from mooring.api import Node, Pod, PodStatus
from mooring.config.load import LoadResult
from mooring.cycle.scheduling_cycle import by_name
from mooring.errors import ObjectError
from mooring.explain.outcome_texts import message_of
from mooring.framework.decision import Decision, Outcome
from mooring.framework.pod_info import PodInfo
from mooring.framework.points import Point
from mooring.virtual.cluster_copy import ClusterCopy, with_weights
from mooring.virtual.comparing_scheduler import (
    ComparingScheduler,
    Why,
    is_best,
    reweighed,
    why_changed,
)
from mooring.virtual.consequences import (
    Consequences,
    MovedPod,
    PlacedPod,
    UnplacedPod,
    utilisation_of,
)
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.node_copies import copies_of, cordoned
from mooring.virtual.simulation import MAX_ATTEMPTS, Progress, schedule_all

#: The annotation of a pod that a kubelet runs from a file; nobody else can start or stop it.
_MIRROR = "kubernetes.io/config.mirror"
_PREEMPTED = "preempted by a pod with a higher priority"
_UNSERVED = 'no profile serves schedulerName "{}"'
#: The percentage of nodes to score: a sample would make two answers differ by chance.
_ALL_NODES = 100


# The questions.


def cordon(
    copy: ClusterCopy, names: Iterable[str], progress: Progress | None = None
) -> Consequences:
    """Return what happens if nodes are cordoned: pending pods cannot go there any more."""
    nodes = _find_nodes(copy, names)

    def change(cluster: MemoryCluster) -> None:
        for node in nodes:
            cluster.add(cordoned(node))

    return _consequences(copy, change, progress)


def drain(
    copy: ClusterCopy, names: Iterable[str], progress: Progress | None = None
) -> Consequences:
    """Return what happens if nodes are drained: cordoned, and their pods placed again.

    Pods of DaemonSets and mirror pods stay. All others count as created again, also those that
    have no controller.
    """
    nodes = _find_nodes(copy, names)
    drained = {node.metadata.name for node in nodes}

    def change(cluster: MemoryCluster) -> None:
        for node in nodes:
            cluster.add(cordoned(node))
        leaving = [pod for pod in cluster.pods if pod.spec.node_name in drained and may_move(pod)]
        for pod in sorted(leaving, key=_template):
            _create_again(cluster, pod)

    return _consequences(copy, change, progress)


def add_nodes(
    copy: ClusterCopy, like: str, count: int, progress: Progress | None = None
) -> Consequences:
    """Return what happens if nodes like an existing one are added.

    A new node has the labels, taints and capacity of `like` without what cordoning or a failure
    added; it has its own pods of DaemonSets, drivers and devices, but no other pods.
    """
    if count < 1:
        raise ObjectError(f"the number of nodes to add must be at least 1, got {count}")
    (node,) = _find_nodes(copy, [like])

    def change(cluster: MemoryCluster) -> None:
        pods = [pod for pod in cluster.pods if pod.spec.node_name == like and not may_move(pod)]
        for obj in copies_of(node, count, pods, cluster):
            cluster.add(obj)

    return _consequences(copy, change, progress)


def change_weights(
    copy: ClusterCopy,
    weights: Mapping[str, int],
    profile: str = "",
    progress: Progress | None = None,
) -> Consequences:
    """Return what happens if Score plugins have other weights; see `change_config`.

    A weight of 0 takes a plugin out. Without `profile`, the weights change in every profile that
    has the plugin. Raise ConfigError if no profile has a plugin of that name.
    """
    config = with_weights(copy.config, weights, profile)
    changed = {one.scheduler_name: dict(one.points[Point.SCORE]) for one in config.profiles}

    def decide_again(pod: Pod, before: Decision) -> Decision:
        return reweighed(before, changed[pod.spec.scheduler_name])

    return _by_other_rules(copy, config, decide_again, progress)


def change_config(
    copy: ClusterCopy, config: LoadResult, progress: Progress | None = None
) -> Consequences:
    """Return which pods would be placed elsewhere by another configuration.

    Each pod that has a node is decided by both configurations on the state without this pod, as
    `mooring explain` does. It is moved if the node that it gets now is not one of the best by the
    new configuration; a pod that is on one of the best nodes keeps it. Such pods do not move in
    `after`: a scheduler does not move pods that run.
    """
    new = _make_scheduler(copy, config)

    def decide_again(pod: Pod, before: Decision) -> Decision | None:
        info = new.cache.pod(pod.metadata.uid)
        if info is None or pod.spec.scheduler_name not in new.profiles:
            return None
        return new.decide_without(info)

    try:
        return _by_other_rules(copy, config, decide_again, progress)
    finally:
        asyncio.run(new.close())


# The answers.


def may_move(pod: Pod) -> bool:
    """Return whether a pod that loses its node is placed on another one.

    Pods of DaemonSets belong to their node, mirror pods to its kubelet, and a terminating pod is
    not created again.
    """
    owners = pod.metadata.owner_references
    return not (
        pod.is_terminating
        or _MIRROR in pod.metadata.annotations
        or any(owner.controller and owner.kind == "DaemonSet" for owner in owners)
    )


def _find_nodes(copy: ClusterCopy, names: Iterable[str]) -> list[Node]:
    nodes = {obj.metadata.name: obj for obj in copy.objects if isinstance(obj, Node)}
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in nodes:
            raise ObjectError(f'there is no node "{name}"')
    return [nodes[name] for name in wanted]


def _create_again(cluster: MemoryCluster, pod: Pod) -> None:
    """Replace a pod by one that has no node; its claims are released."""
    cluster.delete(pod)
    cluster.add(replace(pod, spec=replace(pod.spec, node_name=""), status=PodStatus()))


def _make_scheduler(copy: ClusterCopy, config: LoadResult | None = None) -> ComparingScheduler:
    config = copy.config if config is None else config
    config = replace(
        config,
        config=replace(config.config, percentage_of_nodes_to_score=_ALL_NODES),
        profiles=tuple(
            replace(profile, percentage_of_nodes_to_score=None) for profile in config.profiles
        ),
    )
    scheduler = ComparingScheduler(
        copy.objects,
        config=config,
        registry=copy.registry,
        features=copy.features,
        choose=by_name,
    )
    for name, objects in copy.custom.items():
        store = scheduler.cluster.store(name)
        for obj in objects:
            store.add(obj)
    return scheduler


def _consequences(
    copy: ClusterCopy,
    change: Callable[[MemoryCluster], None] | None,
    progress: Progress | None,
    config: LoadResult | None = None,
) -> Consequences:
    """Schedule without and with a change, or another configuration, and compare."""
    scheduler = _make_scheduler(copy, config)
    cluster = scheduler.cluster
    current = {pod.metadata.uid: pod.spec.node_name for pod in cluster.pods}
    settled = _Settling(scheduler, progress)
    origins = current
    if not all(current.values()):
        baseline = _Settling(_make_scheduler(copy), progress)
        origins = current | baseline.settle()
        settled.pods.update(baseline.pods)
    scheduler.moves.origins = origins
    before = utilisation_of(scheduler.cache.nodes)
    if change is not None:
        change(cluster)
    targets = settled.settle()
    moved: list[MovedPod] = []
    unplaced: list[UnplacedPod] = []
    unserved: list[UnplacedPod] = []
    placed: list[PlacedPod] = []
    for uid, target in targets.items():
        pod, origin = settled.pods[uid], origins.get(uid, "")
        if origin and not target:
            if pod.spec.scheduler_name in scheduler.profiles:
                unplaced.append(UnplacedPod(pod.key, origin, settled.messages.get(uid, "")))
            else:
                message = _UNSERVED.format(pod.spec.scheduler_name)
                unserved.append(UnplacedPod(pod.key, origin, message))
        elif target and not origin:
            placed.append(PlacedPod(pod.key, target))
        elif target != origin:
            moved.append(_moved(pod, origin, target, scheduler.moves.reasons.get(uid, Why())))
    after = utilisation_of(scheduler.cache.nodes)
    return Consequences(moved, unplaced, placed, before, after, unserved)


def _moved(pod: Pod, origin: str, target: str, why: Why) -> MovedPod:
    return MovedPod(pod.key, origin, target, why.plugin, why.change, why.reason)


class _Settling:
    """Scheduling until every pod that can get a node has one; preempted pods are created again."""

    def __init__(self, scheduler: ComparingScheduler, progress: Progress | None) -> None:
        self._scheduler = scheduler
        self._progress = progress
        #: By uid, the pods that were tried or that lost their node.
        self.pods: dict[str, Pod] = {}
        #: By uid, why pods have no node.
        self.messages: dict[str, str] = {}

    def settle(self) -> dict[str, str]:
        """Return the node of each pod that was tried or has lost its node; "" if it has none."""
        asyncio.run(self._settle())
        cluster = self._scheduler.cluster
        found = {}
        for uid, pod in self.pods.items():
            current = cluster.pods.get(pod.metadata.name, pod.metadata.namespace)
            found[uid] = "" if current is None else current.spec.node_name
        return found

    async def _settle(self) -> None:
        cluster = self._scheduler.cluster
        self._note(pod for pod in cluster.pods if not pod.spec.node_name)
        try:
            for _ in range(MAX_ATTEMPTS):
                outcomes = await schedule_all(self._scheduler, self._progress)
                for uid, decision in outcomes.decisions.items():
                    self.messages[uid] = message_of(decision)
                if not outcomes.evicted:
                    break
                self._note(outcomes.evicted)
                for pod in outcomes.evicted:
                    self.messages[pod.metadata.uid] = _PREEMPTED
                    if may_move(pod):
                        _create_again(cluster, pod)
        finally:
            await self._scheduler.close()

    def _note(self, pods: Iterable[Pod]) -> None:
        self.pods.update((pod.metadata.uid, pod) for pod in pods)


# Pods that have a node, by other rules.

#: Decides for a pod that has a node by other rules, after the decision by the present ones; None if
#: they do not serve the pod.
_DecideAgain = Callable[[Pod, Decision], Decision | None]


def _by_other_rules(
    copy: ClusterCopy, config: LoadResult, decide_again: _DecideAgain, progress: Progress | None
) -> Consequences:
    pending = _consequences(copy, None, progress, config)
    scheduler = _make_scheduler(copy)
    moved: list[MovedPod] = []
    unplaced: list[UnplacedPod] = []
    try:
        infos = sorted(scheduler.cache.pods, key=lambda info: _template(info.pod))
        for number, info in enumerate(infos, 1):
            found = _compare(scheduler, info, decide_again)
            if isinstance(found, MovedPod):
                moved.append(found)
            elif found is not None:
                unplaced.append(found)
            if progress is not None:
                progress(number, len(infos) - number)
    finally:
        asyncio.run(scheduler.close())
    return replace(pending, moved=[*moved, *pending.moved], unplaced=[*unplaced, *pending.unplaced])


def _template(pod: Pod) -> tuple[str, str]:
    """Return what pods are sorted by: identical pods in a row reuse each other's answers."""
    owners = pod.metadata.owner_references
    return next((one.uid for one in owners if one.controller), ""), pod.key


def _compare(
    scheduler: ComparingScheduler, info: PodInfo, decide_again: _DecideAgain
) -> MovedPod | UnplacedPod | None:
    """Decide for a pod by both rules; None if it may stay, or has no place by the present ones."""
    pod, current = info.pod, info.pod.spec.node_name
    if (
        not may_move(pod)
        or pod.spec.scheduler_name not in scheduler.profiles
        or scheduler.cache.nodes.row(current) < 0
    ):
        return None
    before = scheduler.decide_without(info)
    if before.outcome is not Outcome.SCHEDULED:
        return None
    after = decide_again(pod, before)
    if after is None:
        return None
    origin = current if is_best(before, current) else before.node_name
    if after.outcome is not Outcome.SCHEDULED:
        return UnplacedPod(pod.key, origin, after.message)
    if is_best(after, origin):
        return None
    why = why_changed(before, after, origin, after.node_name)
    return _moved(pod, origin, after.node_name, why)
