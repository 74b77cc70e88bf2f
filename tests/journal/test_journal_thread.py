"""The thread that writes a journal."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mooring.journal.journal_thread import JournalThread
from tests.support.waiting import PATIENCE


class Pumped:
    """A journal that takes note of who writes it."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.pumped = threading.Event()
        self.when_many: Callable[[], object] = lambda: None

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
        assert journal.pumped.wait(PATIENCE)
        journal.pumped.clear()
    thread.close(30)
    assert set(journal.threads[:-1]) == {"journal"}
    assert journal.threads[-1] == "closed"


def test_the_thread_writes_at_once_when_many_entries_wait() -> None:
    journal = Pumped()
    thread = JournalThread(journal, interval=3600.0)
    thread.start()
    journal.when_many()
    assert journal.pumped.wait(PATIENCE)
    thread.close(30)
    assert journal.threads[0] == "journal"
    assert journal.threads[-1] == "closed"


def test_waiting_entries_are_written_on_request() -> None:
    journal = Pumped()
    thread = JournalThread(journal, interval=3600.0)
    thread.start()
    for times in (1, 2):
        assert thread.flush(30.0)
        assert journal.threads == ["journal"] * times
    thread.close(30)
    assert not thread.flush(0.0), "the thread has ended"
