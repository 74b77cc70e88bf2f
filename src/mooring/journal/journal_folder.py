"""JournalFolder: the folder of `--journal`, in which one scheduler after the other writes."""

from __future__ import annotations

import asyncio

from mooring.config import LoadResult
from mooring.explain.journal_questions import AttemptReplayer, JournalAnswers
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.framework.features import FeatureGates
from mooring.journal.head import make_head
from mooring.journal.journal import SchedulingJournal
from mooring.journal.journal_limits import MAX_BYTES
from mooring.journal.journal_thread import JournalThread
from mooring.journal.segment_writer import SegmentWriter
from mooring.observe.clock import Clock
from mooring.observe.files import locate
from mooring.observe.journal_metrics import JournalMetrics
from mooring.observe.metrics import Metrics
from mooring.queue.unschedulable_timeouts import DEFAULT_MAX_IN_UNSCHEDULABLE
from mooring.registry import Registry
from mooring.scheduler.running_scheduler import RunningScheduler

#: Seconds that the thread has to write what waits when a scheduler ends.
_GRACE = 5.0


class JournalFolder:
    """A folder that is locked for this process, and the journal that is written to it."""

    def __init__(self, folder: str, max_bytes: int = MAX_BYTES) -> None:
        """Take a folder; raise JournalError if it cannot be used."""
        self._writer = SegmentWriter(locate(folder), max_bytes=max_bytes)
        self._thread: JournalThread | None = None
        #: The plugins of every scheduler of this process.
        self._plugins: set[RecordedPlugin] = set()

    def begin(
        self,
        config: LoadResult,
        *,
        registry: Registry,
        features: FeatureGates,
        clock: Clock,
        metrics: Metrics,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
        theirs: LoadResult | None = None,
    ) -> SchedulingJournal:
        """Return the journal of a new scheduler, which is to be one of its taps.

        `theirs` is the configuration that a shadow assumes the other scheduler has.
        """
        head = make_head(
            config,
            registry=registry,
            features=features,
            now=clock.now(),
            max_in_unschedulable=max_in_unschedulable,
            theirs=theirs,
        )
        self._plugins.update(head.plugins)
        return SchedulingJournal(self._writer, head, clock, JournalMetrics(metrics.registry))

    def follow(self, journal: SchedulingJournal, running: RunningScheduler) -> None:
        """Write what a scheduler does that was made with this tap; no other may be followed."""
        journal.attach(running)
        self._thread = JournalThread(journal)
        self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Write everything that waits now, for up to `seconds`; return whether it was done."""
        thread = self._thread
        return thread is not None and thread.flush(seconds)

    def answers(self, replayer: AttemptReplayer | None) -> JournalAnswers | None:
        """Return an object that answers questions from this journal; None without a replayer."""
        if replayer is None:
            return None
        return JournalAnswers(self._writer.folder, self.flush, replayer, self._plugins)

    async def end(self) -> None:
        """Write what waits, after the scheduler has ended. Another one may begin."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.close, _GRACE)

    async def close(self) -> None:
        """End, and release the folder."""
        await self.end()
        self._writer.close()
