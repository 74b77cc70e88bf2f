"""MemoryScheduler: the whole scheduler in memory, every point from PreEnqueue to PostBind.

It serves `mooring schedule`, the benchmarks, `mooring.testing` and the conformance tests. Its
attempts are those of a live scheduler (`scheduler.schedule_one`); here they are driven by plain
calls. Nothing waits for anything outside: time passes on the clock that was handed in, and writes
go to the stores.
"""

from __future__ import annotations

import logging
import random as random_module
from collections.abc import Callable, Collection, Coroutine, Iterable
from typing import Any, TypeVar

from mooring.api import KubeObject, Pod
from mooring.binding.binding_cycle import BindingCycles
from mooring.binding.binding_pods import BindingPods
from mooring.config.load import LoadResult, default_config
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scheduling_cycle import Choose, Cycle, by_seed
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.decision import Decision, Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin_errors import abandon, raise_if_external
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.informers.store import EventHandler
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics
from mooring.offline.claim_controller import ClaimController
from mooring.offline.memory_client import MemoryClient
from mooring.offline.memory_cluster import MemoryCluster
from mooring.offline.memory_events import MemoryEvents
from mooring.offline.memory_status_writer import MemoryStatusWriter
from mooring.offline.volume_controller import VolumeController
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.registry import Registry, default_registry
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt, SchedulingAttempts

T = TypeVar("T")

log = logging.getLogger(__name__)


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends; raise RuntimeError where it does."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    abandon(work)
    raise RuntimeError("something waits for the outside; run this in an event loop")


class Attempt(SchedulingAttempt, kw_only=True):
    """One attempt of a scheduler in memory, with its decision and the work that plugins spawned."""

    decision: Decision
    spawned: list[Coroutine[Any, Any, None]]


class UnqueuedPods:
    """The queue of a scheduler whose caller chooses the pods: it keeps none of them."""

    def __init__(self) -> None:
        #: Pods that lost their node in the binding cycle, which leaves room for others.
        self.released: list[Pod] = []

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
        old: Pod,
        new: None,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Remember a pod that lost its node."""
        self.released.append(old)


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
    ) -> None:
        registry = default_registry() if registry is None else registry
        features = FeatureGates() if features is None else features
        if config is None:
            config = default_config(registry=registry, feature_gates=features)
        self.clock = VirtualClock() if clock is None else clock
        self.random = random_module.Random(0) if random is None else random
        pod_infos = PodInfos(features)
        self.cluster = MemoryCluster(pod_infos, objects)
        self.client = client(self.cluster)
        VolumeController(self.cluster)
        ClaimController(self.cluster)
        self.events = MemoryEvents(self.clock)
        self.metrics = Metrics(features.enabled)
        self.on_the_way = BindingPods()
        #: Pods that plugins asked to try again soon.
        self.activated: list[Pod] = []
        self.queue = UnqueuedPods()
        #: Work that plugins have spawned in the attempt under way.
        self._spawned: list[Coroutine[Any, Any, None]] = []
        self._waiting: list[Attempt] = []
        shared = SharedState(
            features=features,
            clock=self.clock,
            random=self.random,
            client=self.client,
            nominator=self.cluster.nominator,
            extenders=(),
            snapshot=lambda: self.cluster.cache.nodes,
            pod_infos=pod_infos,
            lister=self.cluster.lister,
            watch=self._watch,
            synced=lambda: self._synced,
            waiting_pods=self.on_the_way,
            activate=self.activated.extend,
            spawn=self._spawn,
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
            permitted=self.queue.done,
            start_task=None,
        )
        self._attempts = SchedulingAttempts(
            profiles=self.profiles,
            cycle=self.cycle,
            cache=self.cluster.cache,
            nominator=self.cluster.nominator,
            queue=self.queue,
            on_the_way=self.on_the_way,
            binding=self._binding,
            events_of=events_of,
            status_writer=status_writer,
            pods=self.cluster.pods,
            clock=self.clock,
            metrics=self.metrics,
        )

    def _watch(self, kind: Any, handler: EventHandler[Any]) -> None:
        self.cluster.store(kind).add_handler(handler)

    def _events_of(self, profile: str) -> MemoryEvents:
        return self.events

    def _spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        self._spawned.append(work)

    async def decide(self, pod: Pod, *, examine: bool = False) -> Attempt:
        """Run PreEnqueue and the scheduling cycle; nothing in the cluster changes."""
        profile = self.profiles[pod.spec.scheduler_name]
        start, state = self.clock.now(), CycleState()
        info = QueuedPodInfo(pod, start, 0)
        spawned = self._spawned = []
        status = self._pre_enqueue.run(info)
        if status is not None:
            decision = Decision(pod, profile.name, Outcome.GATED, pre_enqueue=status)
        else:
            info.attempts = 1
            decision = await self._attempts.decide(pod, state, start, examine=examine)
        return Attempt(info, profile, state, start, decision=decision, spawned=spawned)

    async def schedule_one(self, pod: Pod) -> Decision:
        """Try one pod through all points.

        A pod that a plugin makes wait at Permit is left waiting: its decision is complete when
        another pod's attempt or `expire_waits` has ended the wait.
        """
        attempt = await self.decide(pod)
        await self.carry_out(attempt)
        return attempt.decision

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
        """Run Permit and the binding cycle of a pod that has its reservation."""
        self._spawned = attempt.spawned
        failure = self._attempts.permit(attempt)
        if failure is not None:
            await self._failed(attempt, failure)
            return
        assert attempt.assumed is not None
        status = await self._binding.prepare(attempt.assumed)
        if status is not None:
            await self._failed(attempt, self._attempts.binding_failed(attempt, status))
        elif attempt.waits_at_permit:
            self._waiting.append(attempt)
        else:
            await self._finish_binding(attempt)

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
        while ended := [one for one in self._waiting if not one.waits_at_permit]:
            for attempt in ended:
                self._waiting.remove(attempt)
                await self._finish_binding(attempt)

    async def expire_waits(self) -> bool:
        """Let time pass until the next pod's wait at Permit ends; False if no pod waits."""
        deadline = self.on_the_way.next_deadline()
        if deadline is None:
            return False
        self.clock.advance(max(0.0, deadline - self.clock.now()))
        self.on_the_way.expire(self.clock.now())
        await self.finish_waits()
        return True

    async def _failed(self, attempt: Attempt, failure: Failure) -> None:
        """Put into the decision that the pod has lost its node after the scheduling cycle."""
        decision = attempt.decision
        decision.outcome = Outcome.UNSCHEDULABLE if failure.rejected else Outcome.ERROR
        decision.message = failure.message
        decision.unschedulable_plugins = frozenset(failure.unschedulable) - {""}
        decision.node_name = ""
        decision.errors = (*decision.errors, *failure.faults)
        await self._run_spawned(attempt)

    async def _run_spawned(self, attempt: Attempt) -> None:
        while attempt.spawned:
            try:
                await attempt.spawned.pop(0)
            except BaseException as error:
                raise_if_external(error)
                log.exception("Work on behalf of pod %s failed", attempt.decision.pod.key)

    async def close(self) -> None:
        """End every plugin; pods that wait at Permit stay where they are."""
        for attempt in self._waiting:
            self.discard(attempt)
        for profile in self.profiles.values():
            for plugin in profile.plugins.values():
                await plugin.close()
