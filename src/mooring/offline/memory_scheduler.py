"""MemoryScheduler: the whole scheduler in memory, every point from PreEnqueue to PostBind.

It serves `mooring schedule`, the benchmarks, `mooring.testing` and the conformance tests. Nothing
here waits for anything outside: time passes on the clock that was handed in, and writes go to the
stores.

# kube-scheduler: schedule_one.go (schedulingCycle, bindingCycle, handleSchedulingFailure)
"""

from __future__ import annotations

import logging
import random as random_module
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.api import Condition, KubeObject, Pod
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.binding.binding_points import (
    run_bind,
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
    run_pre_enqueue,
    run_reserve,
    run_unreserve,
)
from mooring.config.load import LoadResult, default_config
from mooring.cycle.message import event_note, refused_on_node
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scheduling_cycle import Choose, Cycle, by_seed
from mooring.framework.decision import Decision, Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin_errors import abandon, raise_if_external
from mooring.framework.pod_info import PodInfos
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.clock import VirtualClock
from mooring.offline.claim_controller import ClaimController
from mooring.offline.memory_client import MemoryClient
from mooring.offline.memory_cluster import MemoryCluster
from mooring.offline.memory_events import MemoryEvents
from mooring.offline.volume_controller import VolumeController
from mooring.registry import Registry, default_registry

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


class Attempt(msgspec.Struct):
    """One scheduling attempt under way: the decision, and what plugins keep for it."""

    decision: Decision
    state: CycleState
    profile: Profile
    #: The pod as assumed on its node.
    assumed: Pod | None = None
    #: Where the pod waits at Permit, how long.
    wait: PermitWait | None = None
    spawned: list[Coroutine[Any, Any, None]] = msgspec.field(default_factory=list)


class MemoryScheduler:
    """Schedule pods of a cluster held in memory."""

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
    ) -> None:
        registry = default_registry() if registry is None else registry
        features = FeatureGates() if features is None else features
        if config is None:
            config = default_config(registry=registry, feature_gates=features)
        self.clock = VirtualClock() if clock is None else clock
        self.random = random_module.Random(0) if random is None else random
        pod_infos = PodInfos(features)
        self.cluster = MemoryCluster(pod_infos, objects)
        self.client = MemoryClient(self.cluster)
        VolumeController(self.cluster)
        ClaimController(self.cluster)
        self.events = MemoryEvents(self.clock)
        self.on_the_way = BindingPods()
        #: Pods that plugins asked to try again soon.
        self.activated: list[Pod] = []
        #: Pods that gave up their node again after the scheduling cycle: room for others.
        self.released: list[Pod] = []
        self._attempt: Attempt | None = None
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
            waiting_pods=self.on_the_way,
            activate=self.activated.extend,
            spawn=self._spawn,
        )
        self.profiles = make_profiles(config.profiles, registry, shared, lambda name: self.events)
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

    def _spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        assert self._attempt is not None
        self._attempt.spawned.append(work)

    async def decide(self, pod: Pod, *, examine: bool = False) -> Attempt:
        """Run PreEnqueue and the scheduling cycle; nothing in the cluster changes."""
        profile = self.profiles[pod.spec.scheduler_name]
        state = CycleState()
        attempt = Attempt(Decision(pod, profile.name), state, profile)
        status = run_pre_enqueue(profile, pod)
        if status is not None:
            attempt.decision.pre_enqueue = status
            attempt.decision.outcome = Outcome.GATED
            return attempt
        self._attempt = attempt
        attempt.decision = await self.cycle.run(pod, state, examine=examine)
        return attempt

    async def schedule_one(self, pod: Pod) -> Decision:
        """Try one pod through all points.

        A pod that a plugin lets wait at Permit is left waiting: its decision is complete once
        another pod's attempt or `expire_waits` has ended the wait.
        """
        attempt = await self.decide(pod)
        await self.carry_out(attempt)
        return attempt.decision

    async def carry_out(self, attempt: Attempt) -> None:
        """Make an attempt's decision true in the cluster."""
        self._attempt = attempt
        decision = attempt.decision
        if decision.outcome is Outcome.GATED:
            return
        if decision.outcome is Outcome.SCHEDULED:
            if await self.reserve(attempt):
                await self._permit(attempt)
        else:
            await self._note_failure(attempt)
        await self.finish_waits()

    def discard(self, attempt: Attempt) -> None:
        """Leave an attempt without consequences."""
        for work in attempt.spawned:
            work.close()
        attempt.spawned.clear()

    async def reserve(self, attempt: Attempt) -> bool:
        """Assume the pod on its node and run Reserve; False where a plugin refused."""
        decision, state, profile = attempt.decision, attempt.state, attempt.profile
        node_name = decision.node_name
        pod = self.cluster.cache.assume_pod(decision.pod, node_name)
        attempt.assumed = pod
        self.cluster.nominator.delete(pod.metadata.uid)
        status = run_reserve(profile, state, pod, node_name)
        if status is None:
            return True
        await self._undo(attempt, status)
        return False

    async def _permit(self, attempt: Attempt) -> None:
        assert attempt.assumed is not None
        waits, status = run_permit(
            attempt.profile, attempt.state, attempt.assumed, attempt.decision.node_name
        )
        if status is None:
            await self._bind(attempt)
        elif status.is_wait:
            attempt.wait = PermitWait(attempt.assumed, waits, self.clock.now())
            self.on_the_way.add_waiting(attempt.wait)
            self._waiting.append(attempt)
        else:
            await self._undo(attempt, status)

    async def finish_waits(self) -> None:
        """Go on with the pods whose wait at Permit has ended."""
        while True:
            done = [a for a in self._waiting if a.wait is not None and a.wait.outcome is not None]
            if not done:
                return
            for attempt in done:
                self._waiting.remove(attempt)
                assert attempt.wait is not None and attempt.wait.outcome is not None
                outcome = attempt.wait.outcome
                self.on_the_way.remove_waiting(attempt.wait.pod.metadata.uid)
                self._attempt = attempt
                if outcome.is_success:
                    await self._bind(attempt)
                    continue
                if not outcome.is_rejected:
                    text = f"waiting on permit for pod: {outcome.message}"
                    outcome = Status(Code.ERROR, (text,), plugin=outcome.plugin)
                await self._release(attempt, outcome)

    async def expire_waits(self) -> bool:
        """Let time pass until the next pod's wait at Permit ends; False where none waits."""
        deadline = self.on_the_way.next_deadline()
        if deadline is None:
            return False
        self.clock.advance(max(0.0, deadline - self.clock.now()))
        self.on_the_way.expire(self.clock.now())
        await self.finish_waits()
        return True

    async def _bind(self, attempt: Attempt) -> None:
        """Run the binding cycle of a pod that has its permission."""
        decision, state, profile, pod = (
            attempt.decision,
            attempt.state,
            attempt.profile,
            attempt.assumed,
        )
        assert pod is not None
        node_name, uid = decision.node_name, pod.metadata.uid
        flights = run_pre_bind_pre_flights(profile, state, pod, node_name)
        if flights is not None and not flights.is_skip:
            await self._release(attempt, flights, fits=True)
            return
        under_way = self.on_the_way.add_pre_binding(uid) if flights is None else None
        try:
            status = await run_pre_bind(profile, state, pod, node_name)
        finally:
            self.on_the_way.remove_pre_binding(uid)
        if status is None and under_way is not None and not under_way.finish():
            status = Status.error(under_way.cancelled)
        if status is None:
            status = await run_bind(profile, state, pod, node_name)
        if status is not None:
            await self._release(attempt, status, fits=True)
            return
        note = f"Successfully assigned {pod.key} to {node_name}"
        self.events.event(pod, "Normal", "Scheduled", "Binding", note)
        faults = await run_post_bind(profile, state, pod, node_name)
        decision.errors = (*decision.errors, *faults)
        await self._run_spawned(attempt)

    async def _release(self, attempt: Attempt, status: Status, *, fits: bool = False) -> None:
        """Give a node up again in the binding cycle."""
        assert attempt.assumed is not None
        self.released.append(attempt.assumed)
        await self._undo(attempt, status, fits=fits)

    async def _undo(self, attempt: Attempt, status: Status, *, fits: bool = False) -> None:
        """Take back Reserve and the assumption, and note why.

        Up to Permit a refusal means that the node does not fit; later it is reported as it is, and
        the pod is no plugin's to bring back.
        """
        decision, pod = attempt.decision, attempt.assumed
        assert pod is not None
        faults = run_unreserve(attempt.profile, attempt.state, pod, decision.node_name)
        if self.cluster.cache.is_assumed(pod.metadata.uid):
            self.cluster.cache.forget_pod(pod.metadata.uid)
        if status.is_rejected:
            decision.outcome = Outcome.UNSCHEDULABLE
            decision.message = status.message if fits else refused_on_node(status.reasons)
            decision.unschedulable_plugins = frozenset({status.plugin} - {""} if not fits else ())
        else:
            decision.outcome = Outcome.ERROR
            decision.message = status.message
            faults = (status, *faults)
        decision.node_name = ""
        decision.errors = (*decision.errors, *faults)
        await self._note_failure(attempt)

    async def _note_failure(self, attempt: Attempt) -> None:
        """Write down why a pod stays pending, and where it is nominated to now."""
        decision = attempt.decision
        pod = self.cluster.pods.get(decision.pod.metadata.name, decision.pod.metadata.namespace)
        if pod is not None and not pod.spec.node_name:
            result = decision.post_filter
            nominated = "" if result is None else result.nominated_node
            self.events.event(
                pod, "Warning", "FailedScheduling", "Scheduling", event_note(decision.message)
            )
            unschedulable = decision.outcome is Outcome.UNSCHEDULABLE
            condition = Condition(
                type="PodScheduled",
                status="False",
                reason="Unschedulable" if unschedulable else "SchedulerError",
                message=decision.message,
            )
            others = tuple(c for c in pod.status.conditions if c.type != condition.type)
            status = replace(pod.status, conditions=(*others, condition))
            if nominated is not None:
                status = replace(status, nominated_node_name=nominated)
            changed = replace(pod, status=status)
            if nominated == "":
                self.cluster.nominator.delete(pod.metadata.uid)
            self.cluster.pods.update(changed)
        await self._run_spawned(attempt)

    async def _run_spawned(self, attempt: Attempt) -> None:
        while attempt.spawned:
            try:
                await attempt.spawned.pop(0)
            except BaseException as error:
                raise_if_external(error)
                log.exception("Work on behalf of pod %s failed", attempt.decision.pod.key)

    async def close(self) -> None:
        """End every plugin."""
        for profile in self.profiles.values():
            for plugin in profile.plugins.values():
                await plugin.close()
