"""Checks of trees of groups, in every attempt and when nothing is in progress.

Quorums are counted from the fields of the objects, not by the scheduler's own functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mooring.api import (
    AnyPodGroup,
    CompositePodGroup,
    KubeObject,
    Node,
    Pod,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.api.kinds import decode_as
from mooring.framework.pod_groups import PodGroups
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import Place
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.scheduler import Scheduler
from mooring.scheduler.taps import SilentTap
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation import schedule_all
from tests.soak.bind_checks import FINISHED
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.scheduler_sets import Settings

POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/podgroups"
COMPOSITES = "/apis/scheduling.k8s.io/v1alpha3/compositepodgroups"


class AttemptChecks(SilentTap):
    """A tap that checks every attempt for a group, with the objects that the scheduler knows.

    After a successful attempt, the group of each placed pod and all groups above it have their
    quorum of placed pods, and all pods of a group with a topology are in one domain. Any other
    attempt leaves no pod of the tree assumed.
    """

    def __init__(self, violations: list[str]) -> None:
        self.violations = violations
        self._scheduler: Scheduler | None = None
        self._assumed_before: frozenset[str] = frozenset()

    def begin(self, scheduler: Scheduler) -> None:
        """Observe this scheduler."""
        self._scheduler = scheduler

    def group_begins(self, info: QueuedPodGroupInfo, start: float, seed: int) -> None:
        """Remember the pods that are assumed before the attempt."""
        assert self._scheduler is not None
        self._assumed_before = frozenset(self._scheduler.cache.assumed)

    def group_ends(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Check the pods that the attempt has placed."""
        try:
            self.violations += self._check(outcome)
        except Exception as error:
            self.violations.append(f"the check of an attempt failed: {error!r}")

    def _check(self, outcome: GroupOutcome) -> Iterator[str]:
        scheduler = self._scheduler
        assert scheduler is not None and scheduler.pod_groups is not None
        pods = {info.uid: info.pod for info in scheduler.cache.pods}
        placed = [pods[uid] for uid in scheduler.cache.assumed if uid not in self._assumed_before]
        if outcome is not GroupOutcome.SCHEDULED:
            yield from (f"{pod.key} is left assumed by a failed attempt" for pod in placed)
            return
        tree = Tree(scheduler.pod_groups, list(pods.values()))
        for key in {scheduling_group_key(pod): None for pod in placed}:
            for group in scheduler.pod_groups.ancestry(key):
                if not tree.has_quorum(group):
                    yield f"pods of {key} are placed without a quorum of {group.entity_key}"
                if len(domains := tree.domains(group, scheduler)) > 1:
                    yield f"{group.entity_key} is placed in {sorted(domains)}"

    def bound(self, attempt: SchedulingAttempt) -> None:
        """Check that a pod that was bound is not pending in the queue."""
        assert self._scheduler is not None
        if self._scheduler.queue.get(attempt.info.pod.key) is not None:
            self.violations.append(f"{attempt.info.pod.key} is bound and queued")


class Tree:
    """The groups as a scheduler knows them, with the pods that have a node."""

    def __init__(self, groups: PodGroups, placed: list[Pod]) -> None:
        self._groups = groups
        self._placed = placed
        self._counts = Counter(map(scheduling_group_key, placed))

    def has_quorum(self, group: AnyPodGroup) -> bool:
        """Return whether enough pods, or children with a quorum, are placed."""
        if isinstance(group, WorkloadPodGroup):
            gang = group.spec.scheduling_policy.gang
            return self._counts[group.key] >= (1 if gang is None else gang.min_count)
        policy = group.spec.scheduling_policy.gang
        ready = sum(map(self.has_quorum, self._groups.children(group)))
        return ready >= (1 if policy is None else policy.min_group_count)

    def domains(self, group: AnyPodGroup, scheduler: Scheduler) -> set[str]:
        """Return the topology domains of a group in which its pods are."""
        constraints = group.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return set()
        key, nodes = constraints.topology[0].key, scheduler.cache.nodes
        leaves = {leaf.key for leaf in self._groups.leaves(group)}
        names = [pod.node_name for pod in self._placed if scheduling_group_key(pod) in leaves]
        return {nodes.info(nodes.row(name)).labels[key] for name in names}


def check_rest(scheduler: Scheduler, store: ObjectStore) -> Iterator[str]:
    """Yield what is wrong with a scheduler when nothing is in progress."""
    groups = scheduler.pod_groups
    assert groups is not None
    parts: tuple[Any, ...] = (scheduler.cache, scheduler.queue, groups)
    for part in parts:
        try:
            part.validate()
        except AssertionError as error:
            yield f"{type(part).__name__}.validate: {error}"
    yield from (f"{uid} is still assumed" for uid in scheduler.cache.assumed)
    yield from (f"{pod.key} is still in flight" for pod in scheduler.queue.in_flight())
    yield from (f"{one.pod.key} waits at Permit" for one in scheduler.on_the_way.waiting())
    queue = scheduler.queue
    queued = Counter(one.name for place in Place for one in queue.pods_in(place))
    queued += Counter(one.name for one in queue.pods_without_group())
    pods = [pod for pod in store.list(PODS) if pod["status"]["phase"] not in FINISHED]
    pending = {pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")}
    yield from (f"{name} is lost" for name in sorted(pending - queued.keys()))
    yield from (f"{name} is queued for nothing" for name in sorted(queued.keys() - pending))
    yield from (f"{name} is queued {count} times" for name, count in queued.items() if count > 1)
    known = {info.uid for info in scheduler.cache.pods}
    truth = {pod["metadata"]["uid"] for pod in pods if pod["spec"].get("nodeName")}
    if known != truth:
        yield f"the cache has other pods than the server: {sorted(known ^ truth)}"


async def check_forgotten(settings: Settings, store: ObjectStore) -> list[str]:
    """Return the pods that are pending although a new scheduler would place them."""
    kinds: dict[str, type[KubeObject]] = {
        NODES: Node,
        POD_GROUPS: WorkloadPodGroup,
        COMPOSITES: CompositePodGroup,
    }
    objects = [decode_as(obj, kind) for path, kind in kinds.items() for obj in store.list(path)]
    pods = [pod for pod in store.list(PODS) if pod["status"]["phase"] not in FINISHED]
    objects += [decode_as(pod, Pod) for pod in pods]
    judge = MemoryScheduler(
        objects, config=settings.config, registry=settings.registry, features=settings.features
    )
    outcomes = await schedule_all(judge)
    await judge.close()
    return [
        f"{one.pod.key} is pending, and would fit on {one.node_name}"
        for one in outcomes.decisions.values()
        if one.node_name
    ]


def group_of(pod: Json) -> str:
    """Return the name of the group of a pod; "" if it has none."""
    name: str = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
    return name
