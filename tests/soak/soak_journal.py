"""The journals of a soak: each replica writes one, over all its lives.

A thread would not know virtual time, so the journal writes by itself: when something happens and a
second has passed since the last time. A process that is killed loses what has happened since.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mooring.framework.decision import Decision
from mooring.journal.head import make_head
from mooring.journal.journal import SchedulingJournal
from mooring.journal.segment_writer import SegmentWriter
from mooring.observe.clock import Clock
from mooring.observe.families import MetricsRegistry
from mooring.observe.journal_metrics import JournalMetrics
from mooring.queue.queued_pod_info import QueuedPodInfo
from tests.soak.scheduler_sets import Settings
from tests.support.virtual_loop import Process

#: Virtual seconds between two writes.
INTERVAL = 1.0
#: Small, so that a run has several segments, and large enough that none is removed.
SEGMENT_BYTES = 2**12
MAX_BYTES = 2**30


class SoakJournal(SchedulingJournal):
    """The journal of one life of a replica."""

    def __init__(
        self, writer: SegmentWriter, settings: Settings, clock: Clock, process: Process
    ) -> None:
        head = make_head(
            settings.config,
            registry=settings.registry,
            features=settings.features,
            now=clock.now(),
            max_in_unschedulable=1e9,
        )
        super().__init__(writer, head, clock, JournalMetrics(MetricsRegistry()))
        self._time = clock
        self._process = process
        self._next = 0.0

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """Take a change in, and write."""
        super().changed(kind, old, new)
        self.write()

    def decided(self, info: QueuedPodInfo, decision: Decision, start: float) -> None:
        """Take a decision in, and write."""
        super().decided(info, decision, start)
        self.write()

    def write(self) -> None:
        """Write what waits, unless the last time is less than a second ago or the process dead."""
        if not self._process.dead and self._time.now() >= self._next:
            self._next = self._time.now() + INTERVAL
            self.pump()

    def close(self) -> None:
        """Write what waits, unless the process is dead."""
        if not self._process.dead:
            super().close()


class ReplicaJournals:
    """The folder of a replica's journal. Owned by the replica; it outlives its processes."""

    def __init__(self, folder: Path) -> None:
        self._writer = SegmentWriter(folder, max_bytes=MAX_BYTES, segment_bytes=SEGMENT_BYTES)
        self._journal: SoakJournal | None = None

    def begin(self, settings: Settings, clock: Clock, process: Process) -> SoakJournal:
        """Return the journal of a new process."""
        self._journal = SoakJournal(self._writer, settings, clock, process)
        return self._journal

    def end(self) -> None:
        """Write what waits, if the process lives."""
        if self._journal is not None:
            self._journal.close()

    def close(self) -> None:
        """Close the folder."""
        self._writer.close()
