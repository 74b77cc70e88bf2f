"""Measuring: CPU per pod, in units of one bare Python loop over the nodes.

A loop over the nodes is the least that a scheduler in plain Python would do for a pod. It is timed
in the same run, so that the result does not depend on how fast or busy the machine is.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from benchmarks.workloads import Workload
from mooring.api import Pod
from mooring.framework.decision import Outcome
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

#: Schedules one pod; returns 1 if it has got a node, else 0.
Step = Callable[[MemoryScheduler, Pod], int]


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


class Run:
    """The pods of a workload, scheduled one after another: cycle, assume, Reserve."""

    def __init__(self, workload: Workload, scheduler: MemoryScheduler, step: Step) -> None:
        self._workload = workload
        self._scheduler = scheduler
        self._step = step
        self._nodes = len(scheduler.cache.nodes)
        self._cpu: list[float] = []
        self._wall: list[float] = []
        self._loops: list[float] = []
        self._pods = self._scheduled = 0
        for pod in itertools.islice(workload.pods, workload.sample):
            step(scheduler, pod)

    def sample(self) -> bool:
        """Measure one sample; False if there are no more pods."""
        workload, scheduler, step = self._workload, self._scheduler, self._step
        count = min(workload.sample, workload.measured - self._pods)
        batch = list(itertools.islice(workload.pods, count))
        if not batch:
            return False
        scheduled = 0
        wall_begin, begin = time.perf_counter(), time.process_time()
        for pod in batch:
            scheduled += step(scheduler, pod)
        self._cpu.append((time.process_time() - begin) / len(batch))
        self._wall.append((time.perf_counter() - wall_begin) / len(batch))
        self._loops.append(time_loop(self._nodes))
        self._pods += len(batch)
        self._scheduled += scheduled
        return True

    def result(self) -> Result:
        """Return the figures so far."""
        return Result(
            self._nodes,
            self._pods,
            self._scheduled,
            statistics.median(self._cpu),
            statistics.median(self._wall),
            statistics.median(self._loops),
        )


def run(
    workload: Workload, scheduler: MemoryScheduler | None = None, *, reuse: bool = False
) -> Result:
    """Schedule a workload's pods and return the figures."""
    if scheduler is None:
        scheduler = MemoryScheduler(workload.objects, reuse=reuse)
    whole = Run(workload, scheduler, preempt_one if workload.preempts else schedule_one)
    with _frozen():
        while whole.sample():
            pass
    return whole.result()


def compare(first: Run, second: Run) -> tuple[Result, Result]:
    """Measure two runs in turn, sample by sample, so that other programs disturb both alike."""
    with _frozen():
        while first.sample() and second.sample():
            pass
    return first.result(), second.result()


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep the garbage collector from visiting what exists now."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def schedule_one(scheduler: MemoryScheduler, pod: Pod) -> int:
    """Schedule one pod up to Reserve; return 1 if it has a node."""
    attempt = drive(scheduler.decide(pod))
    if attempt.decision.outcome is not Outcome.SCHEDULED:
        return 0
    return drive(scheduler.reserve(attempt))


def preempt_one(scheduler: MemoryScheduler, pod: Pod) -> int:
    """Run one preemption: the attempt that finds victims, and their removal."""
    attempt = drive(scheduler.decide(pod))
    scheduler.discard(attempt)
    result = attempt.decision.post_filter
    if result is None or not result.nominated_node:
        return 0
    for victim in result.victims:
        scheduler.cache.remove_pod(victim.metadata.uid)
    scheduler.cache.assume_pod(pod, result.nominated_node)
    return 1
