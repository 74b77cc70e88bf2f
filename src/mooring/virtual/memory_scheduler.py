"""MemoryScheduler: a simulation whose caller chooses the pods, for tests, explanations, benchmarks.

Each step of an attempt is a call: `decide`, `reserve`, `permit_and_bind`. The queue stays closed
until `schedule_all`, so a pod that fails waits nowhere.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from mooring.api import Pod, scheduling_group_key
from mooring.framework.decision import Decision, Outcome
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.virtual.simulation import Simulation, gated_decision


class Attempt(SchedulingAttempt, kw_only=True):
    """One attempt with its decision, and the work that plugins spawned in the scheduling cycle."""

    decision: Decision
    spawned: Sequence[Coroutine[Any, Any, None]] = ()


class MemoryScheduler(Simulation):
    """A simulation in which the caller tries one pod after another."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scheduler = self.scheduler
        self.profiles = scheduler.profiles
        self.cache, self.nominator = scheduler.cache, scheduler.nominator
        self.cycle, self.pod_groups = scheduler.cycle, scheduler.pod_groups
        self.on_the_way, self.metrics = scheduler.on_the_way, scheduler.metrics
        self.random = scheduler.random
        # An attempt is one call, so nobody else could move the clock meanwhile.
        self.tasks.sleep_moves_clock = True
        self._pre_enqueue = PreEnqueue(self.profiles, self.clock.now)

    @property
    def activated(self) -> list[Pod]:
        """The pods that plugins have activated."""
        self.scheduler.take_in()
        return self.queue.activated

    async def decide(self, pod: Pod, *, examine: bool = False) -> Attempt:
        """Run PreEnqueue and the scheduling cycle; nothing in the cluster changes."""
        await self.settle()
        profile = self.profiles[pod.spec.scheduler_name]
        start, state = self.clock.now(), CycleState()
        info = QueuedPodInfo(pod, start, 0)
        info.attempts = 1
        status = self._pre_enqueue.run(info)
        if status is not None:
            decision = gated_decision(pod, status)
            self.recorder.gated(decision)
        else:
            with self.inbox.busy():
                decide = self.scheduler.attempts.decide
                decision = await decide(info, state, start, examine=examine)
        spawned = self.tasks.take_spawned()
        return Attempt(info, profile, state, start, decision=decision, spawned=spawned)

    async def schedule_one(self, pod: Pod) -> Decision:
        """Try one pod through all points.

        A pod that waits at Permit is left waiting; its decision is complete when another pod's
        attempt or `expire_waits` has ended the wait.
        """
        attempt = await self.decide(pod)
        await self.carry_out(attempt)
        return attempt.decision

    async def carry_out(self, attempt: Attempt) -> None:
        """Apply an attempt's decision to the cluster."""
        decision = attempt.decision
        if decision.outcome is Outcome.GATED:
            return
        if decision.outcome is not Outcome.SCHEDULED:
            self.scheduler.attempts.fail(attempt.info, Failure.of(decision), attempt.start)
            await self._go_on(attempt)
        elif await self.reserve(attempt):
            await self.permit_and_bind(attempt)

    def discard(self, attempt: Attempt) -> None:
        """Drop an attempt without applying its decision."""
        for work in attempt.spawned:
            work.close()
        attempt.spawned = ()
        self.recorder.forget(attempt.info.uid)

    async def reserve(self, attempt: Attempt) -> bool:
        """Assume the pod on its node and run Reserve; False if a plugin refused."""
        if self.scheduler.attempts.reserve(attempt, attempt.decision) is None:
            return True
        await self._go_on(attempt)
        return False

    async def unreserve(self, attempt: Attempt) -> None:
        """Give back the place of a pod whose Reserve has run and whose Permit has not."""
        self.scheduler.attempts.give_back(attempt, Status.unschedulable())
        await self._go_on(attempt)

    async def permit_and_bind(self, attempt: Attempt) -> None:
        """Run Permit and the binding cycle of a pod after Reserve."""
        if self.scheduler.attempts.permit(attempt) is None:
            self.scheduler.start_binding(attempt)
        await self._go_on(attempt)

    async def _go_on(self, attempt: Attempt) -> None:
        for work in attempt.spawned:
            self.tasks.spawn(work, attempt.info.pod)
        attempt.spawned = ()
        await self.settle()
        if not attempt.waits_at_permit:
            self.recorder.forget(attempt.info.uid)

    async def expire_waits(self) -> bool:
        """Advance the clock to the next timeout at Permit; False if no pod waits."""
        deadline = self.on_the_way.next_deadline()
        if deadline is not None:
            await self.move_to(deadline)
        return deadline is not None

    # Pod groups.

    def is_grouped(self, pod: Pod) -> bool:
        """Return whether a pod is scheduled with its pod group."""
        return self.pod_groups is not None and pod.spec.scheduling_group is not None

    async def schedule_group(self, info: QueuedPodGroupInfo) -> list[Decision]:
        """Try one pod group through all points; return the decision on each of its pods."""
        groups = self.scheduler.group_attempts
        assert groups is not None
        await self.settle()
        with self.inbox.busy():
            permitted = await groups.schedule(info, timed=False)
        for attempt in permitted:
            self.scheduler.start_binding(attempt)
        await self.settle()
        return self.recorder.take_group()

    async def schedule_group_of(self, pod: Pod) -> Decision:
        """Try a pod's group with all its pods that have no node; return the decision on the pod.

        If the group is part of a tree, the whole tree is tried. If PreEnqueue holds one of the pods
        back, all of them wait.
        """
        groups, now = self.pod_groups, self.clock.now()
        assert groups is not None
        key = scheduling_group_key(pod)
        root = groups.root_of(key)
        together = {key} if root is None else {leaf.key for leaf in groups.leaves(root)}
        members = [
            QueuedPodInfo(one, now, sequence)
            for sequence, one in enumerate(self.cluster.pods.list())
            if scheduling_group_key(one) in together
            and not one.spec.node_name
            and one.spec.scheduler_name in self.profiles
        ]
        own = [member for member in members if member.uid == pod.metadata.uid]
        for member in (*own, *members):
            status = self._pre_enqueue.run(member)
            if status is not None:
                return gated_decision(pod, status)
        assert root is not None, "GangScheduling holds the pods of an unknown group back"
        info = QueuedPodGroupInfo(root, members[0], now, 0)
        for member in members:
            member.attempts = 1
            info.add(member)
        info.attempts = 1
        decisions = await self.schedule_group(info)
        return next(one for one in decisions if one.pod.metadata.uid == pod.metadata.uid)
