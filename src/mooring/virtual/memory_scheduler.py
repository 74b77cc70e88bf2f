"""MemoryScheduler: the whole scheduler in memory, every point from PreEnqueue to PostBind.

It serves `mooring schedule`, the benchmarks, `mooring.testing` and the conformance tests. Its
attempts are those of a live scheduler (`scheduler.schedule_one`), driven by plain calls. Nothing
waits for I/O: time passes on a virtual clock, and writes go to the stores.
"""

from __future__ import annotations

import logging
import random as random_module
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mooring.api import AnyPodGroup, KubeObject, Pod, WorkloadPodGroup, scheduling_group_key
from mooring.binding.binding_cycle import BindingCycles
from mooring.binding.binding_pods import BindingPods
from mooring.config.load import LoadResult, default_config
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scheduling_cycle import Choose, Cycle, by_seed
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.decision import Decision, Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.handle import HttpClient
from mooring.framework.plugin_errors import raise_if_external
from mooring.framework.pod_groups import PodGroups, known_pod_groups
from mooring.framework.pod_info import PodInfos
from mooring.framework.release_metrics import make_metrics
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup
from mooring.observe.clock import VirtualClock
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.registry import Registry, default_registry
from mooring.scheduler.examined_group import ExaminedGroup
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import AttemptQueue, SchedulingAttempt, SchedulingAttempts
from mooring.scheduler.schedule_one_pod_group import PodGroupAttempts
from mooring.virtual.claim_controller import ClaimController
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_events import MemoryEvents
from mooring.virtual.memory_periodic_work import MemoryPeriodicWork
from mooring.virtual.memory_status_writer import MemoryGroupStatusWriter, MemoryStatusWriter
from mooring.virtual.no_network import NoNetwork
from mooring.virtual.volume_controller import VolumeController

log = logging.getLogger(__name__)


class Attempt(SchedulingAttempt, kw_only=True):
    """One attempt of a scheduler in memory, with its decision and the work that plugins spawned."""

    decision: Decision
    spawned: list[Coroutine[Any, Any, None]]


class UnqueuedPods:
    """The queue of a scheduler whose caller chooses the pods: it keeps none of them."""

    def done(self, uid: str) -> None:
        """Do nothing: no pod is in flight."""

    def add_unschedulable(
        self,
        info: QueuedPodInfo,
        pod: Pod,
        unschedulable_plugins: Collection[str] = (),
        pending_plugins: Collection[str] = (),
    ) -> None:
        """Do nothing: the caller has the decision."""

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Do nothing: no pod waits for an event."""

    def group_attempted(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        """Do nothing: no group is in flight."""


class MemoryScheduler:
    """A scheduler of the pods of a cluster held in memory."""

    def __init__(
        self,
        objects: Iterable[KubeObject] = (),
        *,
        config: LoadResult | None = None,
        registry: Registry | None = None,
        features: FeatureGates | None = None,
        clock: VirtualClock | None = None,
        random: random_module.Random | None = None,
        choose: Choose = by_seed,
        reuse: bool | None = None,
        client: Callable[[MemoryCluster], MemoryClient] = MemoryClient,
        http: HttpClient | None = None,
    ) -> None:
        registry = default_registry() if registry is None else registry
        features = FeatureGates() if features is None else features
        if config is None:
            config = default_config(registry=registry, feature_gates=features)
        self.settings = config.config
        self.features = features
        self.clock = VirtualClock() if clock is None else clock
        self.random = random_module.Random(0) if random is None else random
        pod_infos = PodInfos(features)
        #: The pod groups and their pods; None if there are none.
        self.pod_groups = known_pod_groups(features)
        self.cluster = MemoryCluster(pod_infos, objects, self.pod_groups)
        self.client = client(self.cluster)
        VolumeController(self.cluster)
        ClaimController(
            self.cluster,
            of_groups=self.pod_groups is not None and features.enabled("DRAWorkloadResourceClaims"),
        )
        self.events = MemoryEvents(self.clock)
        self.metrics = make_metrics(features)
        self.on_the_way = BindingPods()
        #: Pods that plugins have activated.
        self.activated: list[Pod] = []
        #: Work that plugins have spawned in the current attempt.
        self._spawned: list[Coroutine[Any, Any, None]] = []
        #: The attempts that wait at Permit, by uid, and those whose wait has ended.
        self._waiting: dict[str, Attempt] = {}
        self._ended: list[Attempt] = []
        self._periodic = MemoryPeriodicWork(self.clock)
        shared = SharedState(
            features=features,
            clock=self.clock,
            random=self.random,
            client=self.client,
            http=NoNetwork() if http is None else http,
            nominator=self.cluster.nominator,
            extenders=(),
            snapshot=lambda: self.cluster.cache.nodes,
            pod_infos=pod_infos,
            lister=self.cluster.lister,
            watch=self.cluster.watch,
            synced=lambda: self._synced,
            waiting_pods=self.on_the_way,
            activate=self.activated.extend,
            spawn=self._spawn,
            every=self._periodic.every,
            pod_groups=self.pod_groups or PodGroups(),
            metrics=self.metrics,
        )
        events_of = self._events_of
        #: Whether the objects of the cluster have been shown to the plugins.
        self._synced = False
        self.profiles = make_profiles(config.profiles, registry, shared, events_of)
        self._synced = True
        self._pre_enqueue = PreEnqueue(self.profiles, self.clock.now)
        self.cycle = Cycle(
            self.profiles,
            snapshot=lambda: self.cluster.cache.nodes,
            node_order=self.cluster.cache.node_order,
            nominator=self.cluster.nominator,
            percentage_of_nodes_to_score=config.config.percentage_of_nodes_to_score,
            random=self.random,
            choose=choose,
            reuse=reuse,
        )
        status_writer = MemoryStatusWriter(self.cluster.pods)
        self._binding = BindingCycles(
            on_the_way=self.on_the_way,
            status_writer=status_writer,
            extenders=(),
            events_of=events_of,
            clock=self.clock,
            metrics=self.metrics,
            nominates=features.enabled("NominatedNodeNameForExpectation"),
            permitted=lambda uid: self._attempts.queue.done(uid),
            start_task=None,
        )
        self._attempts = SchedulingAttempts(
            profiles=self.profiles,
            cycle=self.cycle,
            cache=self.cluster.cache,
            nominator=self.cluster.nominator,
            queue=UnqueuedPods(),
            on_the_way=self.on_the_way,
            binding=self._binding,
            events_of=events_of,
            status_writer=status_writer,
            pods=self.cluster.pods,
            clock=self.clock,
            metrics=self.metrics,
        )

        #: Why pods of the current group found no node.
        self._group_failures: list[tuple[QueuedPodInfo, Failure]] = []
        #: Whether the details of all attempts of groups are recorded.
        self.examines_groups = False
        #: What the current attempt of a group has tried.
        self._tried: TriedGroup | None = None
        self._group_attempts: PodGroupAttempts | None = None
        if self.pod_groups is not None:
            self._group_attempts = PodGroupAttempts(
                attempts=self._attempts,
                profiles=self.profiles,
                cache=self.cluster.cache,
                groups=self.pod_groups,
                status_writer=MemoryGroupStatusWriter(self.cluster.store(WorkloadPodGroup)),
                features=features,
                clock=self.clock,
                metrics=self.metrics,
                failed=lambda info, failure: self._group_failures.append((info, failure)),
                examiner=self,
            )

    def wants(self, group: AnyPodGroup) -> bool:
        """Return whether to record the details of a group's attempts; subclasses may override."""
        return self.examines_groups

    def take(self, examined: ExaminedGroup) -> None:
        """Keep what an attempt of a group has tried, for the decisions on its pods."""
        self._tried = examined.tried

    def _events_of(self, profile: str) -> MemoryEvents:
        return self.events

    def _spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        self._spawned.append(work)

    async def run_periodic(self) -> None:
        """Run the periodic work of plugins that is due; every attempt begins with this."""
        await self._periodic.run_due()

    @contextmanager
    def taking_from(self, queue: AttemptQueue) -> Iterator[None]:
        """Have pods that were popped from a queue return to it when they fail."""
        before, self._attempts.queue = self._attempts.queue, queue
        try:
            yield
        finally:
            self._attempts.queue = before

    async def decide(
        self, pod: Pod, info: QueuedPodInfo | None = None, *, examine: bool = False
    ) -> Attempt:
        """Run the scheduling cycle; nothing in the cluster changes.

        PreEnqueue runs before it, unless the pod was popped from a queue, which gives its `info`.
        """
        await self._periodic.run_due()
        profile = self.profiles[pod.spec.scheduler_name]
        start, state = self.clock.now(), CycleState()
        spawned = self._spawned = []
        status = None
        if info is None:
            info = QueuedPodInfo(pod, start, 0)
            info.attempts = 1
            status = self._pre_enqueue.run(info)
        if status is not None:
            decision = Decision(pod, profile.name, Outcome.GATED, pre_enqueue=status)
            decision.errors = (status,) if status.is_error else ()
        else:
            decision = await self._attempts.decide(info, state, start, examine=examine)
        return Attempt(info, profile, state, start, decision=decision, spawned=spawned)

    async def schedule_one(self, pod: Pod, info: QueuedPodInfo | None = None) -> Decision:
        """Try one pod through all points; see `decide`.

        A pod that waits at Permit is left waiting; its decision is complete when another pod's
        attempt or `expire_waits` has ended the wait.
        """
        attempt = await self.decide(pod, info)
        await self.carry_out(attempt)
        return attempt.decision

    async def schedule_group(self, info: QueuedPodGroupInfo) -> list[Decision]:
        """Try one pod group through all points; return the decision on each of its pods."""
        assert self._group_attempts is not None
        await self._periodic.run_due()
        spawned = self._spawned = []
        self._group_failures.clear()
        self._tried = None
        permitted = await self._group_attempts.schedule(info, timed=False)
        decisions = [_refused(one, failure) for one, failure in self._group_failures]
        bound = [_bound(attempt, spawned) for attempt in permitted]
        for attempt in bound:
            await self.bind(attempt)
        await self._run_spawned_of(spawned, f"pod group {info.group.key}")
        await self.finish_waits()
        decisions += [attempt.decision for attempt in bound]
        for decision in decisions:
            decision.group = self._tried
        return decisions

    def is_grouped(self, pod: Pod) -> bool:
        """Return whether a pod is scheduled with its pod group."""
        return self.pod_groups is not None and pod.spec.scheduling_group is not None

    async def schedule_group_of(self, pod: Pod) -> Decision:
        """Try a pod's group with all its pods that have no node; return the decision on the pod.

        If the group is part of a tree, the whole tree is tried. If PreEnqueue holds one of the pods
        back, all of them wait.
        """
        groups = self.pod_groups
        assert groups is not None
        key, now = scheduling_group_key(pod), self.clock.now()
        root = groups.root_of(key)
        together = {key} if root is None else {leaf.key for leaf in groups.leaves(root)}
        members = [
            QueuedPodInfo(one, now, sequence)
            for sequence, one in enumerate(self.cluster.pods.list())
            if scheduling_group_key(one) in together
            and not one.spec.node_name
            and one.spec.scheduler_name in self.profiles
        ]
        for member in members:
            groups.set_pending(member.pod)
        own = [member for member in members if member.uid == pod.metadata.uid]
        for member in (*own, *members):
            status = self._pre_enqueue.run(member)
            if status is not None:
                errors = (status,) if status.is_error else ()
                profile = pod.spec.scheduler_name
                return Decision(pod, profile, Outcome.GATED, pre_enqueue=status, errors=errors)
        assert root is not None, "GangScheduling holds the pods of an unknown group back"
        info = QueuedPodGroupInfo(root, members[0], now, 0)
        for member in members:
            member.attempts = 1
            info.add(member)
        info.attempts = 1
        decisions = await self.schedule_group(info)
        return next(one for one in decisions if one.pod.metadata.uid == pod.metadata.uid)

    async def carry_out(self, attempt: Attempt) -> None:
        """Apply an attempt's decision to the cluster."""
        self._spawned = attempt.spawned
        decision = attempt.decision
        if decision.outcome is Outcome.GATED:
            return
        if decision.outcome is not Outcome.SCHEDULED:
            self._attempts.fail(attempt.info, Failure.of(decision), attempt.start)
            await self._run_spawned(attempt)
        elif await self.reserve(attempt):
            await self.permit_and_bind(attempt)
        await self.finish_waits()

    def discard(self, attempt: Attempt) -> None:
        """Drop an attempt without applying its decision."""
        for work in attempt.spawned:
            work.close()
        attempt.spawned.clear()

    async def reserve(self, attempt: Attempt) -> bool:
        """Assume the pod on its node and run Reserve; False if a plugin refused."""
        self._spawned = attempt.spawned
        failure = self._attempts.reserve(attempt, attempt.decision)
        if failure is None:
            return True
        await self._failed(attempt, failure)
        return False

    async def unreserve(self, attempt: Attempt) -> None:
        """Give back the place of a pod whose Reserve has run and whose Permit has not."""
        self._spawned = attempt.spawned
        self._attempts.give_back(attempt, Status.unschedulable())
        await self._run_spawned(attempt)

    async def permit_and_bind(self, attempt: Attempt) -> None:
        """Run Permit and the binding cycle of a pod after Reserve."""
        self._spawned = attempt.spawned
        failure = self._attempts.permit(attempt)
        if failure is not None:
            await self._failed(attempt, failure)
            return
        await self.bind(attempt)

    async def bind(self, attempt: Attempt) -> None:
        """Run the binding cycle of a pod after Permit, up to a wait that has not ended."""
        assert attempt.assumed is not None
        status = await self._binding.prepare(attempt.assumed)
        if status is not None:
            await self._failed(attempt, self._attempts.binding_failed(attempt, status))
        elif attempt.waits_at_permit:
            self._wait(attempt)
        else:
            await self._finish_binding(attempt)

    def _wait(self, attempt: Attempt) -> None:
        assert attempt.assumed is not None and attempt.assumed.wait is not None
        self._waiting[attempt.info.pod.metadata.uid] = attempt
        attempt.assumed.wait.when_done(lambda: self._ended.append(attempt))

    async def _finish_binding(self, attempt: Attempt) -> None:
        self._spawned = attempt.spawned
        assert attempt.assumed is not None
        status = await self._binding.finish(attempt.assumed)
        if status is not None:
            await self._failed(attempt, self._attempts.binding_failed(attempt, status))
            return
        faults = await self._attempts.bound(attempt)
        attempt.decision.errors = (*attempt.decision.errors, *faults)
        await self._run_spawned(attempt)

    async def finish_waits(self) -> None:
        """Continue with the pods whose wait at Permit has ended."""
        while self._ended:
            attempt = self._ended.pop(0)
            del self._waiting[attempt.info.pod.metadata.uid]
            await self._finish_binding(attempt)

    async def expire_waits(self) -> bool:
        """Advance the clock to the next timeout at Permit; False if no pod waits."""
        deadline = self.on_the_way.next_deadline()
        if deadline is None:
            return False
        await self.advance_to(deadline)
        return True

    async def advance_to(self, moment: float) -> None:
        """Advance the clock to a moment, and end the waits at Permit that time out until then."""
        self.clock.advance(max(0.0, moment - self.clock.now()))
        self.on_the_way.expire(self.clock.now())
        await self.finish_waits()

    async def _failed(self, attempt: Attempt, failure: Failure) -> None:
        """Record in the decision that the pod lost its node after the scheduling cycle."""
        decision = attempt.decision
        decision.outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
        decision.message = failure.message
        decision.unschedulable_plugins = frozenset(failure.unschedulable) - {""}
        decision.node_name = ""
        decision.errors = (*decision.errors, *failure.faults)
        await self._run_spawned(attempt)

    async def _run_spawned(self, attempt: Attempt) -> None:
        await self._run_spawned_of(attempt.spawned, f"pod {attempt.decision.pod.key}")

    async def _run_spawned_of(self, spawned: list[Coroutine[Any, Any, None]], whose: str) -> None:
        while spawned:
            try:
                await spawned.pop(0)
            except BaseException as error:
                raise_if_external(error)
                log.exception("Work on behalf of %s failed", whose)

    async def close(self) -> None:
        """Close every plugin; pods that wait at Permit stay where they are."""
        for attempt in self._waiting.values():
            self.discard(attempt)
        for profile in self.profiles.values():
            for plugin in profile.plugins.values():
                await plugin.close()


def _refused(info: QueuedPodInfo, failure: Failure) -> Decision:
    """Return the decision on a pod of a group that found no node."""
    outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
    decision = Decision(info.pod, info.profile, outcome, message=failure.message)
    decision.unschedulable_plugins = frozenset(failure.unschedulable)
    decision.errors = tuple(failure.faults)
    return decision


def _bound(attempt: SchedulingAttempt, spawned: list[Coroutine[Any, Any, None]]) -> Attempt:
    """Return the attempt of a pod of a group that is to be bound, with its decision."""
    info, assumed = attempt.info, attempt.assumed
    assert assumed is not None
    decision = Decision(info.pod, info.profile, Outcome.SCHEDULED, node_name=assumed.node_name)
    return Attempt(
        info,
        attempt.profile,
        attempt.state,
        attempt.start,
        assumed,
        decision=decision,
        spawned=spawned,
    )
