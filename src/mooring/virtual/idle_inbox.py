"""IdleInbox: an inbox of a scheduler in memory, where nobody drains it while no cycle runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mooring.scheduler.inbox import Inbox


class IdleInbox(Inbox):
    """An inbox that makes each call when it is posted, unless a cycle is in progress.

    So a binding cycle or a preemption finds its own writes in cache and queue.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_busy = False

    def post(self, call: Callable[..., None], *args: Any) -> None:
        """Make `call(*args)`, or keep it until the cycle in progress has ended."""
        super().post(call, *args)
        if not self._is_busy:
            with self.busy():
                self.drain()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Keep calls while a cycle is in progress; the owner drains them after it."""
        before, self._is_busy = self._is_busy, True
        try:
            yield
        finally:
            self._is_busy = before
