"""ReplayClock: a clock that shows the time of the entry that is being replayed."""

from __future__ import annotations

from mooring.replay.recorded_answers import RecordedSleep


class ReplayClock:
    """A clock that is set, also backwards: a journal may continue that of an earlier process."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the time of the current entry, in seconds since the epoch."""
        return self.time

    def wall_time(self) -> float:
        """Return the time of the current entry, which a journal records by the steady clock."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Suspend until the replay has come that far (`RecordedAnswers.move_to`)."""
        await RecordedSleep(seconds)
