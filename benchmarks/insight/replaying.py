"""The replay of a journal, beside the same cycles in memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.insight.figures import Figure
from benchmarks.measure import schedule_one
from mooring.api import Node, Pod
from mooring.journal.journal_reading import read_journal
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import Replay, RunRules
from mooring.virtual.memory_scheduler import MemoryScheduler

#: The most time of a replayed attempt, as a multiple of a cycle in memory.
_LIMIT = 1.5


def replay(folder: Path, nodes: Sequence[Node], pods: Sequence[Pod]) -> list[Figure]:
    """Replay a journal, between two runs of the same pods in memory; return the ratio."""
    first = _cycles(nodes, pods)
    begin: list[float] = []

    def note(*_: object) -> None:
        if not begin:
            begin.append(time.process_time())

    found = Replay(lambda head: RunRules(recorded_rules(head)), before_attempt=note)
    report = found.run(read_journal(folder))
    attempts = report.attempts
    assert attempts and not report.deviations, "the journal was not replayed as it was recorded"
    each = (time.process_time() - begin[0]) / attempts
    second = _cycles(nodes, pods)
    cycle = (first + second) / 2
    detail = f"{each * 1e6:.0f} µs and {cycle * 1e6:.0f} µs of CPU, {attempts} attempts"
    return [
        Figure("a replayed attempt, beside one in memory", each / cycle, _LIMIT, "times", detail)
    ]


def _cycles(nodes: Sequence[Node], pods: Sequence[Pod]) -> float:
    """Return the CPU of one cycle with Reserve in memory."""
    scheduler = MemoryScheduler([*nodes, *pods])
    begin = time.process_time()
    for pod in pods:
        schedule_one(scheduler, pod)
    return (time.process_time() - begin) / len(pods)
