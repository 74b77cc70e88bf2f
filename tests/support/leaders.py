"""A leading `mooring run` process, with a local API server in the process of the test."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mooring.leader.scheduler_questions import SchedulerAddress
from tests.live.running import QUICK_ELECTION, Mooring, configuration
from tests.support.processes import LOOPBACK


class LeadingScheduler:
    """A scheduler that can be restarted on the same port. Its API server runs in this loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kubeconfig = folder / "kubeconfig"
        self._port = 0
        self._mooring: Mooring | None = None
        self._starts = 0

    @property
    def address(self) -> SchedulerAddress:
        """Return the address as `--scheduler` gives it; the Lease names the certificate."""
        return SchedulerAddress(url=f"https://{LOOPBACK}:{self._port}")

    async def start(self) -> None:
        """Start the process, and wait until it leads."""
        files = [
            f"--{of}-kubeconfig={self._kubeconfig}" for of in ("authentication", "authorization")
        ]
        config = configuration(self._kubeconfig, leaderElection=QUICK_ELECTION)
        port = [f"--secure-port={self._port}"] if self._port else []
        self._starts += 1
        self._mooring = Mooring(self._folder / f"leader-{self._starts}", config, *files, *port)
        self._port = self._port or self._mooring.port
        await asyncio.to_thread(self._mooring.wait_logged, "Successfully acquired lease")

    async def stop(self) -> None:
        """End the process."""
        if self._mooring is not None:
            self._mooring.process.send(signal.SIGTERM)
            await asyncio.to_thread(self._mooring.process.stop)
            self._mooring = None


@asynccontextmanager
async def leading(folder: Path) -> AsyncIterator[LeadingScheduler]:
    """Run a leader for the local API server whose kubeconfig is in a folder."""
    leader = LeadingScheduler(folder)
    await leader.start()
    try:
        yield leader
    finally:
        await leader.stop()
