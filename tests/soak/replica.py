"""Replica: a scheduler process of a soak, which is killed, suspended and started again.

It is assembled as in `mooring.app.scheduler_process`, but without threads, signals and the health
server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from mooring.app.leader import LeaderElector, make_fence
from mooring.app.lease_fence import LeaseFence
from mooring.app.lease_lock import LeaseLock
from mooring.app.lifecycle import Lifecycle
from mooring.client.client import Client
from mooring.client.rate_limit import RateLimit, rate_limit
from mooring.client.transport import BeforeSend
from mooring.config.types import LeaderElection
from mooring.observe.metrics import Metrics
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.scheduler.scheduler import GRACE, Scheduler
from mooring.scheduler.taps import SchedulingTap
from tests.soak.api_server import ApiServer
from tests.soak.lease_checks import request_seconds
from tests.soak.scheduler_sets import Settings
from tests.soak.soak_journal import ReplicaJournals
from tests.support.virtual_loop import LoopClock, Process

#: Seconds that a scheduler has to end when it is stopped.
STOP_SECONDS = 20.0
#: Seconds after which at most a scheduler that ended is started again.
RESTART_SECONDS = 10.0


class ReplicaTap(SchedulingTap, Protocol):
    """An observer that gets to know the scheduler."""

    def begin(self, scheduler: Scheduler) -> None:
        """Observe this scheduler."""
        ...


class Replica:
    """A scheduler process and its restarts. Owned by the loop of its soak."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        server: ApiServer,
        seed: int,
        tap: Callable[[], ReplicaTap] | None = None,
        journals: ReplicaJournals | None = None,
    ) -> None:
        """Prepare a scheduler; `tap` makes an observer of each of its processes."""
        self._name = name
        self._make_tap = tap
        self._settings = settings
        self._server = server
        self._seed = seed
        self._journals = journals
        self._random = Random(f"{seed}/{name}")
        #: Clocks differ between replicas, which must not matter.
        self._clock = LoopClock(1_800_000_000.0 + self._random.choice((0.0, -3600.0, 3600.0)))
        self._lives = 0
        self._life: asyncio.Task[None] | None = None
        self._duty: Lifecycle | None = None
        self.process = Process("none")
        self.scheduler: Scheduler | None = None
        self.violations: list[str] = []

    @property
    def leads(self) -> bool:
        """Whether it schedules, as far as it knows."""
        return not self.process.dead and self._duty is not None and self._duty.leads

    def start(self) -> None:
        """Start a new process."""
        self._lives += 1
        process = self.process = Process(f"{self._name} {self._lives}")
        self.scheduler = self._duty = None
        self._life = process.start(self._live(process))
        self._life.add_done_callback(self._ended)

    def start_again(self, process: Process) -> None:
        """Start a new process after `process`, unless that has happened already."""
        if self.process is process:
            self.start()

    def set_clock(self, seconds: float) -> None:
        """Set the wall clock of the replica: by so many seconds, compared with the start."""
        self._clock.set_by = seconds

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()

    async def stop(self) -> None:
        """Stop the process, and kill it if it does not end."""
        process, life = self.process, self._life
        if self._duty is not None and life is not None:
            self._duty.stop()
            await asyncio.wait((life,), timeout=STOP_SECONDS)
        process.kill()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.violations.append(f"{self._name} ended: {task.exception()!r}")

    async def _live(self, process: Process) -> None:
        settings, election = self._settings, self._settings.config.config.leader_election
        fence = None
        if election.leader_elect:
            fence = make_fence(election, asyncio.get_running_loop().time)
        check = None if fence is None else fence.check_request
        tap = None if self._make_tap is None else self._make_tap()
        journal = None
        if self._journals is not None:
            journal = self._journals.begin(settings, self._clock, process)
        running = RunningScheduler(
            settings.config,
            client=self._client(process, rate_limit(50.0, 100, self._clock), check),
            event_client=self._client(process, rate_limit(50.0, 100, self._clock), check),
            registry=settings.registry,
            features=settings.features,
            clock=self._clock,
            metrics=Metrics(),
            # No flush, so that pods which the hints miss stay pending and are found.
            max_in_unschedulable=1e9,
            random=Random(f"{self._seed}/{process.name}"),
            host="simulated",
            before_write=None if fence is None else fence.check,
            taps=[one for one in (tap, journal) if one is not None],
        )
        if tap is not None:
            tap.begin(running.scheduler)
        if journal is not None:
            journal.attach(running)
        elector = None if fence is None else self._make_elector(process, election, fence)
        electing: asyncio.Task[bool] | None = None

        def elect() -> None:
            nonlocal electing
            assert elector is not None
            electing = asyncio.create_task(elector.run(duty.lead, duty.lose_lease))
            electing.add_done_callback(self._ended)

        duty = self._duty = Lifecycle(elect=None if elector is None else elect)
        self.scheduler = running.scheduler
        running.start()
        await duty.run(running.scheduler, running.sync, running.catch_up)
        await running.close(0.0 if duty.lost_lease else GRACE)
        if journal is not None:
            journal.close()
        if elector is not None and electing is not None:
            elector.stop()
            await asyncio.wait((electing,), timeout=GRACE)
        process.kill()
        if duty.lost_lease:
            # A container that ends is started again.
            pause = self._random.uniform(0.1, RESTART_SECONDS)
            asyncio.get_running_loop().call_later(pause, self.start_again, process)

    def _make_elector(
        self, process: Process, settings: LeaderElection, fence: LeaseFence
    ) -> LeaderElector:
        lock = LeaseLock(
            self._client(process, None),
            settings.resource_namespace,
            settings.resource_name,
            identity=process.name,
            component=self._name,
            timeout=request_seconds(settings),
            clock=self._clock,
        )
        random = Random(f"{self._seed}/{process.name}/lease")
        return LeaderElector(settings, lock, fence=fence, rng=random)

    def _client(
        self, process: Process, limit: RateLimit | None, before_send: BeforeSend | None = None
    ) -> Client:
        transport = self._server.transport(process, before_send=before_send)
        return Client(transport, limit=limit, clock=self._clock)
