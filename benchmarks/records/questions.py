"""What one question costs: how long it holds the loop, and how long `mooring explain` takes."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmarks.records.figures import Figure
from benchmarks.records.loop import WAITING, LoopRun
from mooring.api import Pod
from mooring.cycle.scheduling_cycle import Cycle
from mooring.explain.explainer import Explainer
from mooring.explain.live_examination import LiveExaminer
from mooring.framework.state import CycleState
from mooring.scheduler.scheduler import Scheduler

#: The most cycles without reuse that an examination may hold the loop.
_CYCLES = 20.0
#: The most seconds until an answer.
_SECONDS = 1.0
#: The most time of a cold `mooring explain`, as a multiple of reading everything with kubectl.
_COLD = 2.0


async def examination(run: LoopRun, rounds: int) -> list[Figure]:
    """Measure examinations of a pod that waits and of one that is placed, in turn with cycles."""
    scheduler = run.running.scheduler
    waiting = scheduler.pods.get(WAITING.name, WAITING.namespace)
    assert waiting is not None
    placed = next(iter(scheduler.cache.pods)).pod
    explainer = Explainer(scheduler, run.history)
    begin = time.perf_counter()
    answer = await explainer.explain_pod(waiting.namespace, waiting.name)
    answer.data()
    took = time.perf_counter() - begin
    return [
        _held(scheduler, "waits", waiting, rounds),
        _held(scheduler, "is placed", placed, rounds),
        Figure("a question until its answer", took, _SECONDS, "s"),
    ]


def _held(scheduler: Scheduler, what: str, pod: Pod, rounds: int) -> Figure:
    cycle, examiner = _without_reuse(scheduler), LiveExaminer(scheduler)
    pending = replace(pod, spec=replace(pod.spec, node_name=""))
    held, cycles = [], []
    for _ in range(rounds):
        held.append(_cpu(lambda: examiner.examine(pod)))
        cycles.append(_cpu(lambda: cycle.run_sync(pending, CycleState())))
    one, other = statistics.median(held), statistics.median(cycles)
    detail = f"{one * 1e3:.1f} ms and {other * 1e3:.2f} ms of CPU"
    name = f"an examination of a pod that {what}, in cycles"
    return Figure(name, one / other, _CYCLES, "cycles", detail)


def _without_reuse(scheduler: Scheduler) -> Cycle:
    return Cycle(
        scheduler.profiles,
        snapshot=lambda: scheduler.cache.nodes,
        node_order=scheduler.cache.node_order,
        nominator=scheduler.nominator,
        random=random.Random(0),
        reuse=False,
    )


def _cpu(work: Callable[[], object]) -> float:
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def cold_explain(kubectl: Path, kubeconfig: Path, pod: Pod, rounds: int) -> list[Figure]:
    """Measure `mooring explain` as a new process, in turn with kubectl reading all it needs."""
    mooring = str(Path(sys.executable).with_name("mooring"))
    server = f"--kubeconfig={kubeconfig}"
    commands: tuple[Sequence[str], Sequence[str]] = (
        (str(kubectl), "get", "nodes,pods", "-A", "-o", "json", server),
        (mooring, "explain", pod.name, "-n", pod.namespace, "-o", "json", server),
    )
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for command, found in zip(commands, times, strict=True):
            found.append(_seconds(lambda command=command: _run(command)))
    reading, explaining = map(statistics.median, times)
    detail = f"{explaining:.2f} s and {reading:.2f} s"
    return [
        Figure(
            "a cold mooring explain, beside kubectl get",
            explaining / reading,
            _COLD,
            "times",
            detail,
        )
    ]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
