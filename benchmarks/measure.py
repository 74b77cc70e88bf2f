"""Measuring: CPU per pod, in units of one bare Python loop over the nodes.

A loop over the nodes is the least that a scheduler in plain Python would do for a pod. It is timed
in the same run, so that the result does not depend on how fast or busy the machine is.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time

import msgspec

from benchmarks.workloads import Workload
from mooring.api import Pod
from mooring.framework.decision import Outcome
from mooring.offline.driving import drive
from mooring.offline.memory_scheduler import MemoryScheduler

#: Pods per sample; the loop over the nodes is timed between samples.
_SAMPLE = 50


class Result(msgspec.Struct):
    """The figures of one run; times are in seconds."""

    nodes: int
    pods: int
    scheduled: int
    cpu_per_pod: float
    wall_per_pod: float
    loop: float

    @property
    def loops(self) -> float:
        """The CPU of a pod in loops over the nodes."""
        return self.cpu_per_pod / self.loop

    @property
    def pods_per_second(self) -> float:
        """The throughput of the scheduling core alone."""
        return 1.0 / self.wall_per_pod


def time_loop(nodes: int, repeat: int = 3) -> float:
    """Return the CPU seconds of one bare loop over the nodes, the best of `repeat`."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        total = 0
        for i in range(nodes):
            total += i
        best = min(best, time.process_time() - begin)
    return best


def run(
    workload: Workload, scheduler: MemoryScheduler | None = None, *, reuse: bool = False
) -> Result:
    """Schedule a workload's pods one after another: cycle, assume, Reserve."""
    if scheduler is None:
        scheduler = MemoryScheduler(workload.objects, reuse=reuse)
    nodes = len(scheduler.cluster.cache.nodes)
    step = _preempt_one if workload.preempts else _schedule_one
    for pod in itertools.islice(workload.pods, _SAMPLE):
        step(scheduler, pod)
    cpu: list[float] = []
    wall: list[float] = []
    loops: list[float] = []
    scheduled = pods = 0
    gc.collect()
    gc.freeze()
    while pods < workload.measured:
        batch = list(itertools.islice(workload.pods, min(_SAMPLE, workload.measured - pods)))
        if not batch:
            break
        wall_begin, begin = time.perf_counter(), time.process_time()
        for pod in batch:
            scheduled += step(scheduler, pod)
        cpu.append((time.process_time() - begin) / len(batch))
        wall.append((time.perf_counter() - wall_begin) / len(batch))
        loops.append(time_loop(nodes))
        pods += len(batch)
    gc.unfreeze()
    return Result(
        nodes,
        pods,
        scheduled,
        statistics.median(cpu),
        statistics.median(wall),
        statistics.median(loops),
    )


def _schedule_one(scheduler: MemoryScheduler, pod: Pod) -> int:
    attempt = drive(scheduler.decide(pod))
    if attempt.decision.outcome is not Outcome.SCHEDULED:
        return 0
    return drive(scheduler.reserve(attempt))


def _preempt_one(scheduler: MemoryScheduler, pod: Pod) -> int:
    """Run one preemption: the attempt that finds victims, and their removal."""
    attempt = drive(scheduler.decide(pod))
    scheduler.discard(attempt)
    result = attempt.decision.post_filter
    if result is None or not result.nominated_node:
        return 0
    for victim in result.victims:
        scheduler.cluster.cache.remove_pod(victim.metadata.uid)
    scheduler.cluster.cache.assume_pod(pod, result.nominated_node)
    return 1
