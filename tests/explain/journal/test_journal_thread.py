"""The thread that writes a journal."""

from __future__ import annotations

import threading

from mooring.explain.journal.journal_thread import JournalThread


class Pumped:
    """A journal that takes note of who writes it."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.pumped = threading.Event()

    def pump(self) -> None:
        self.threads.append(threading.current_thread().name)
        self.pumped.set()

    def close(self) -> None:
        self.threads.append("closed")


def test_the_thread_writes_again_and_again_and_closes_the_journal() -> None:
    journal = Pumped()
    thread = JournalThread(journal, interval=0.001)
    thread.start()
    for _ in range(3):
        assert journal.pumped.wait(30)
        journal.pumped.clear()
    thread.close(30)
    assert set(journal.threads[:-1]) == {"journal"}
    assert journal.threads[-1] == "closed"
