"""JournalThread: writes a journal beside the scheduling loop."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

#: Seconds between two writes: with the time that a write takes, less than a second is lost if the
#: process is killed.
INTERVAL = 0.5


class PumpedJournal(Protocol):
    """A journal that is written when it is told to; `SchedulingJournal` is one."""

    #: Called when many entries wait.
    when_many: Callable[[], object]

    def pump(self) -> None:
        """Write everything that waits."""
        ...

    def close(self) -> None:
        """Write what waits, and end."""
        ...


class JournalThread:
    """The thread that encodes, compresses and writes what a journal has taken in.

    It writes when many entries wait, and else at regular intervals.
    """

    def __init__(self, journal: PumpedJournal, interval: float = INTERVAL) -> None:
        self._journal = journal
        self._interval = interval
        self._wake = threading.Event()
        self._stopped = False
        #: Events that are set once everything that waited when they were added is written.
        self._flushes: deque[threading.Event] = deque()
        # A daemon: a disk that does not answer must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._journal.when_many = self._wake.set
        self._thread.start()

    def flush(self, seconds: float) -> bool:
        """Write everything that waits now; return whether it was done within `seconds`.

        Called by any other thread.
        """
        written = threading.Event()
        self._flushes.append(written)
        self._wake.set()
        return written.wait(seconds)

    def close(self, seconds: float) -> None:
        """Write what waits, and end; give up after `seconds`."""
        self._stopped = True
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._interval)
            self._wake.clear()
            waiting = len(self._flushes)
            self._journal.pump()
            for _ in range(waiting):
                self._flushes.popleft().set()
        self._journal.close()
