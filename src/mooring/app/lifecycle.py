"""Lifecycle: a process from its first list to its end, with or without a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Work = Callable[[], Coroutine[Any, Any, None]]


class LeaderWork(Protocol):
    """What only the leader does: a scheduler, or controllers."""

    async def follow(self) -> None:
        """Process events while another process leads, until cancelled."""
        ...

    async def run(self) -> None:
        """Do the work, until cancelled."""
        ...


class Lifecycle:
    """The phases of a process that may lead: sync, wait for the lease, work until told to end.

    `elect` begins an election, which calls `lead` once the lease is held; without it the process
    leads at once. With `late`, nothing is listed before that. Owned by the loop of the work.
    """

    # kube-scheduler: cmd/kube-scheduler/app/server.go (Run)

    def __init__(self, *, elect: Callable[[], None] | None = None, late: bool = False) -> None:
        self._elect = elect
        self._late = late and elect is not None
        self._leading = asyncio.Event()
        self._stopping = asyncio.Event()
        #: Whether it ends because the lease is lost: another scheduler may be running already.
        self.lost_lease = False

    @property
    def leads(self) -> bool:
        """Return whether the work is done here."""
        return self._leading.is_set() and not self._stopping.is_set()

    def lead(self) -> None:
        """Begin to work."""
        self._leading.set()

    def stop(self) -> None:
        """End as soon as the work can be interrupted."""
        self._stopping.set()

    def lose_lease(self) -> None:
        """End because the lease is lost."""
        self.lost_lease = True
        self._stopping.set()

    async def run(self, work: LeaderWork, sync: Work, catch_up: Work | None = None) -> None:
        """Run the work; `sync` returns once its informers have synced.

        `catch_up` is called when the lease is held, unless `sync` is called then.
        """
        if not self._late and not await self._during(sync()):
            return
        if self._elect is not None:
            self._elect()
            # While it waits for the lease, it keeps processing events.
            following = asyncio.create_task(work.follow())
            try:
                if not await self._during(self._leading.wait()):
                    return
            finally:
                following.cancel()
            begin = sync if self._late else catch_up
            if begin is not None and not await self._during(begin()):
                return
        self._leading.set()
        await self._during(work.run())

    async def _during(self, work: Coroutine[Any, Any, object]) -> bool:
        """Run some work; if told to end, cancel it and return False."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            stopping.cancel()
            working.cancel()
            await asyncio.wait((working,))
        return not self._stopping.is_set()
