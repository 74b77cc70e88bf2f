"""JournalThread: writes a journal beside the scheduling loop."""

from __future__ import annotations

import threading
from typing import Protocol

#: Seconds between two writes: with the time that a write takes, less than a second is lost if the
#: process is killed.
INTERVAL = 0.5


class PumpedJournal(Protocol):
    """A journal that is written when it is told to; `SchedulingJournal` is one."""

    def pump(self) -> None:
        """Write everything that waits."""
        ...

    def close(self) -> None:
        """Write what waits, and end."""
        ...


class JournalThread:
    """The thread that encodes, compresses and writes what a journal has taken in."""

    def __init__(self, journal: PumpedJournal, interval: float = INTERVAL) -> None:
        self._journal = journal
        self._interval = interval
        self._stop = threading.Event()
        # A daemon: a disk that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Write what waits, and end; give up after `seconds`."""
        self._stop.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            self._journal.pump()
        self._journal.close()
