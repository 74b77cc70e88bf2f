"""The replay of a journal with both histories, beside the same cycles in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.measure import schedule_one
from benchmarks.records.figures import Figure
from mooring.api import Node, Pod
from mooring.journal.entries import AttemptBegins, Entry
from mooring.journal.journal_reading import read_journal
from mooring.replay.own_history import OwnHistory
from mooring.replay.replay_rules import recorded_rules
from mooring.replay.replaying import Replay, RunRules
from mooring.virtual.memory_scheduler import MemoryScheduler

#: The most time of a replayed attempt, as a multiple of a cycle in memory.
_LIMIT = 1.5
#: The same for an attempt of a history of its own, with queue, events and binding.
_OWN_LIMIT = 2.5


async def replay(folder: Path, nodes: Sequence[Node], pods: Sequence[Pod]) -> list[Figure]:
    """Replay a journal, between two runs of the same pods in memory; return the ratios."""
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
    own_each, own_attempts = await _own_history(folder)
    second = _cycles(nodes, pods)
    cycle = (first + second) / 2
    return [
        _figure("a replayed attempt, beside one in memory", each, cycle, attempts, _LIMIT),
        _figure("one of a history of its own", own_each, cycle, own_attempts, _OWN_LIMIT),
    ]


def _figure(name: str, each: float, cycle: float, attempts: int, limit: float) -> Figure:
    detail = f"{each * 1e6:.0f} µs and {cycle * 1e6:.0f} µs of CPU, {attempts} attempts"
    return Figure(name, each / cycle, limit, "times", detail)


async def _own_history(folder: Path) -> tuple[float, int]:
    """Return the CPU of an attempt of a history of its own, and the number of attempts.

    The part of the journal before the first recorded attempt, which has the nodes, does not count.
    """
    begin: list[float] = []

    def entries() -> Iterator[Entry]:
        for entry in read_journal(folder):
            if not begin and isinstance(entry, AttemptBegins):
                begin.append(time.process_time())
            yield entry

    history = OwnHistory(recorded_rules)
    report = await history.run(entries())
    assert report.own.bound == report.recorded.bound, "other pods were bound than recorded"
    return (time.process_time() - begin[0]) / report.own.attempts, report.own.attempts


def _cycles(nodes: Sequence[Node], pods: Sequence[Pod]) -> float:
    """Return the CPU of one cycle with Reserve in memory."""
    scheduler = MemoryScheduler([*nodes, *pods])
    begin = time.process_time()
    for pod in pods:
        schedule_one(scheduler, pod)
    return (time.process_time() - begin) / len(pods)
