"""Examination of a pod on the state that a scheduler has of a cluster, without any effect on it."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import Pod
from mooring.errors import ObjectError
from mooring.explain.examination import Examination, ask_filters, examine
from mooring.framework.decision import Decision, Outcome
from mooring.framework.state import CycleState
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.scheduler import Scheduler

#: The number of an attempt that nobody made: the question is asked now.
NOW = 0


async def examine_now(scheduler: Scheduler, pod: Pod) -> Examination:
    """Decide where a pod would go now, and return what every plugin says of every node.

    A pod that has a node is asked about as if it were not there. The scheduler must be one that
    only reads: a preemption is decided and not carried out.
    """
    name = pod.spec.scheduler_name
    profile = scheduler.profiles.get(name)
    if profile is None:
        served = ", ".join(sorted(scheduler.profiles))
        raise ObjectError(
            f'no profile serves schedulerName "{name}" of pod {pod.key}; profiles: {served}; '
            "name the scheduler's configuration with --config"
        )
    cache = scheduler.cache
    placed = cache.pod(pod.metadata.uid)
    if placed is not None:
        cache.remove_pod(pod.metadata.uid)
    try:
        unplaced = replace(pod, spec=replace(pod.spec, node_name=""))
        info = QueuedPodInfo(unplaced, scheduler.clock.now(), 0)
        gate = PreEnqueue(scheduler.profiles, scheduler.clock.now).run(info)
        if gate is not None:
            decision = Decision(unplaced, profile.name, Outcome.GATED, pre_enqueue=gate)
            return Examination(decision, NOW)
        answers = ask_filters(profile, scheduler.nominator, unplaced, cache.nodes)
        decision = await scheduler.cycle.run(unplaced, CycleState(), examine=True)
        return examine(answers, decision, NOW)
    finally:
        if placed is not None:
            cache.add_pod(placed.pod)
