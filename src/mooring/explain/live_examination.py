"""Examination of a pod on the state that a scheduler has of a cluster, without any effect on it.

An examination runs a scheduling cycle of its own: with the plugins of the scheduler, but with
another random source, another node search, no cached answers and other metrics. What plugins spawn
or activate meanwhile is dropped. Extenders are not asked. PostFilter, which preempts, runs only in
a scheduler that never writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from mooring.api import Pod
from mooring.cycle.profile import Profile
from mooring.cycle.scheduling_cycle import Cycle
from mooring.errors import ObjectError
from mooring.explain.examination import Answers, Examination, ask_filters, examine
from mooring.framework.decision import Decision, Outcome
from mooring.framework.state import CycleState
from mooring.observe.attempt_random import AttemptRandom, state_of
from mooring.observe.metrics import Metrics
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.scheduler import Scheduler

#: The number of an attempt that nobody made: the question is asked now.
NOW = 0


class LiveExaminer:
    """The examinations of one scheduler. Owned by the scheduling loop.

    Call its methods only between two cycles.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._random = AttemptRandom(0)
        metrics = Metrics()
        self._profiles: dict[str, Profile] = {
            name: profile.uncounted(metrics) for name, profile in scheduler.profiles.items()
        }
        self._pre_enqueue = PreEnqueue(self._profiles, scheduler.clock.now)
        self._cycle = Cycle(
            self._profiles,
            snapshot=lambda: scheduler.cache.nodes,
            node_order=scheduler.cache.node_order,
            nominator=scheduler.nominator,
            random=self._random,
            reuse=False,
        )

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile that serves a pod; raise ObjectError if none does."""
        name = pod.spec.scheduler_name
        profile = self._profiles.get(name)
        if profile is None:
            served = ", ".join(sorted(self._profiles))
            raise ObjectError(
                f'no profile serves schedulerName "{name}" of pod {pod.key}; profiles: {served}; '
                "name the scheduler's configuration with --config"
            )
        return profile

    def examine(self, pod: Pod) -> Examination:
        """Decide where a pod would go now, and return what every plugin says of every node.

        A pod that has a node is asked about as if it were not there. PostFilter does not run.
        """
        profile = self.profile_of(pod)
        with self._without_effect(pod) as asked:
            found = self._begin(profile, asked)
            if isinstance(found, Examination):
                return found
            decision = self._cycle.run_sync(asked, _state(), examine=True, post_filter=False)
            return examine(found, decision, NOW)

    async def examine_with_post_filter(self, pod: Pod) -> Examination:
        """Examine a pod and run PostFilter; only for a scheduler that cannot write."""
        assert self._scheduler.read_only
        profile = self.profile_of(pod)
        with self._without_effect(pod) as asked:
            found = self._begin(profile, asked)
            if isinstance(found, Examination):
                return found
            return examine(found, await self._cycle.run(asked, _state(), examine=True), NOW)

    @contextmanager
    def _without_effect(self, pod: Pod) -> Iterator[Pod]:
        scheduler = self._scheduler
        if pod.spec.node_name:
            pod = replace(pod, spec=replace(pod.spec, node_name=""))
        self._random.state = state_of(scheduler.random)
        self._cycle.search.next_start_node_index = scheduler.cycle.search.next_start_node_index
        with scheduler.examining(), scheduler.cache.without_pod(pod.metadata.uid):
            yield pod

    def _begin(self, profile: Profile, pod: Pod) -> Examination | Answers:
        scheduler = self._scheduler
        gate = self._pre_enqueue.run(QueuedPodInfo(pod, scheduler.clock.now(), 0))
        if gate is not None:
            decision = Decision(pod, profile.name, Outcome.GATED, pre_enqueue=gate)
            return Examination(decision, NOW)
        return ask_filters(profile, scheduler.nominator, pod, scheduler.cache.nodes)


async def examine_now(scheduler: Scheduler, pod: Pod) -> Examination:
    """Examine a pod in a scheduler that only reads; a preemption is decided, not carried out."""
    return await LiveExaminer(scheduler).examine_with_post_filter(pod)


def _state() -> CycleState:
    state = CycleState()
    state.examines = True
    return state
