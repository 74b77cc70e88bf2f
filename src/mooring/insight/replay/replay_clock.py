"""ReplayClock: a clock that shows the time of the entry that is being replayed."""

from __future__ import annotations

from collections.abc import Generator


class _Never:
    """Something to await that never happens."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class ReplayClock:
    """A clock that is set, also backwards, as the clock of a machine may be.

    Nothing waits in a replay: a coroutine that sleeps suspends, and its caller drops it.
    """

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the time of the current entry, in seconds since the epoch."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Suspend without end."""
        while True:
            await _Never()
