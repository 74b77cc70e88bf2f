"""Soak: the live scheduler on virtual time, against a simulated API server that fails.

One seed is one run: a workload and its faults for a minute or two of virtual time, then calm, then
the reckoning. Everything that is random comes from the seed, so a run that fails is repeated by its
number:

    python -m mooring.simulate.soak --seed 17
    python -m mooring.simulate.soak --seeds 1000 --jobs 2

What must hold:

- every bind goes to a node that had room at that moment, and no pod is bound twice (`Ledger`);
- in the end every pod is bound that a scheduler which sees everything would place, or make room
  for;
- no pod is assumed or in flight for ever, the queue holds exactly the pending pods, nobody keeps a
  nomination, and the cache equals the truth;
- nothing raises an exception that nobody expected.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import multiprocessing
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from random import Random

import msgspec

from mooring.app.scheduler import Scheduler
from mooring.binding.broadcaster import EventBroadcaster
from mooring.client.client import Client
from mooring.client.rate_limit import rate_limit
from mooring.config.load import LoadResult, default_config
from mooring.framework.features import FeatureGates
from mooring.informers.factory import InformerFactory
from mooring.observe.metrics import Metrics
from mooring.registry import Registry, default_registry
from mooring.simulate.api_server import ApiServer
from mooring.simulate.approver import CALM_FROM, Approver
from mooring.simulate.faults import FaultPlan, Weather, draw_weather
from mooring.simulate.ledger import Ledger
from mooring.simulate.object_store import Json, ObjectStore
from mooring.simulate.reckoning import check_inside, reckon
from mooring.simulate.scenarios import Workload
from mooring.simulate.virtual_loop import (
    LoopClock,
    Process,
    StandstillError,
    VirtualLoop,
    run_virtually,
)

#: Virtual seconds of faults.
STORM_SECONDS = CALM_FROM
#: Virtual seconds of calm: a watch that died in silence is noticed after 150.
CALM_SECONDS = 420.0

#: Log messages that tell of exceptions nobody expected.
BUGS = frozenset(
    (
        "Work beside the scheduling loop failed",
        "Handling an event failed",
        "Handler failed",
        "Reflector failed",
        "Scheduling a pod failed",
        "The binding cycle failed",
        "Unreserve failed",
        "PostBind failed",
        "Discarding the popped pod",
        "Error occurred",
        "Error getting cluster events for pod",
        "Scheduler cache ForgetPod failed",
    )
)


class Report(msgspec.Struct, frozen=True):
    """How one run went."""

    seed: int
    violations: tuple[str, ...]
    binds: int
    #: A digest of everything that happened: the same for the same seed.
    digest: str
    weather: Weather

    def __str__(self) -> str:
        if not self.violations:
            return f"seed {self.seed}: {self.binds} pods bound, all well"
        lines = [f"seed {self.seed}: {violation}" for violation in self.violations]
        return "\n".join([*lines, f"again: python -m mooring.simulate.soak --seed {self.seed}"])


def run_seed(seed: int, v: int | None = None) -> Report:
    """Run one seed to its end; with `v` the scheduler's log of that verbosity is printed."""
    faults = _Bugs(v)
    with faults:
        soak = _Soak(seed)
        try:
            run_virtually(soak.run(), Random(f"{seed}/order"))
        except StandstillError as error:
            faults.found.append(str(error))
    return soak.report(faults.found)


@cache
def _settings() -> tuple[Registry, FeatureGates, LoadResult]:
    registry, features = default_registry([Approver]), FeatureGates()
    config = default_config(registry=registry, feature_gates=features, enabled=[Approver.name])
    return registry, features, config


class _Soak:
    """One run."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random = Random(f"{seed}/soak")
        self._clock = LoopClock()
        self._store = ObjectStore()
        self._weather = draw_weather(Random(f"{seed}/weather"), STORM_SECONDS)
        self._faults = FaultPlan(self._weather, Random(f"{seed}/faults"))
        self._server = ApiServer(self._store, self._faults, self._clock)
        self._ledger = Ledger(self._server)
        self._digest = hashlib.sha256()
        self._process = Process("none")
        self._scheduler: Scheduler | None = None
        self._lives = 0
        self._violations: list[str] = []

    def report(self, bugs: Iterable[str]) -> Report:
        """Say how it went."""
        violations = (*self._ledger.violations, *self._violations, *bugs)
        return Report(
            self._seed,
            tuple(dict.fromkeys(violations)),
            len(self._ledger.binds),
            self._digest.hexdigest(),
            self._weather,
        )

    async def run(self) -> None:
        """Run the storm, the calm and the reckoning."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._store.listen(self._note)
        workload = Workload(self._server, Random(f"{self._seed}/workload"))
        self._start_scheduler()
        work = [
            loop.create_task(one)
            for one in (
                workload.run(STORM_SECONDS),
                self._kill_at(self._weather.kills),
                self._restart_at(self._weather.restarts),
                self._compact_at(self._weather.compactions),
                self._look_inside(),
            )
        ]
        await asyncio.gather(*work)
        await asyncio.sleep(max(0.0, STORM_SECONDS - loop.time()))
        self._faults.active = False
        await asyncio.sleep(CALM_SECONDS)
        assert self._scheduler is not None
        self._violations += await reckon(self._scheduler, self._store)
        self._violations += [_describe(context) for context in loop.failures]
        self._process.kill()

    def _note(self, collection: str) -> None:
        """Take a change into the digest."""
        loop = asyncio.get_running_loop()
        for change in self._store.since(collection, self._store.version - 1):
            self._digest.update(f"{loop.time():.9f} {change.type} ".encode())
            self._digest.update(msgspec.json.encode(change.object))

    # The scheduler's lives.

    def _start_scheduler(self) -> None:
        self._lives += 1
        self._process = Process(f"scheduler {self._lives}")
        self._scheduler = None
        task = self._process.start(self._live(self._process))
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._violations.append(f"the scheduler ended: {task.exception()!r}")

    async def _live(self, process: Process) -> None:
        registry, features, config = _settings()
        clock, metrics = self._clock, Metrics()
        transport = self._server.transport(process)
        client = Client(transport, limit=rate_limit(50.0, 100, clock), clock=clock)
        random = Random(f"{self._seed}/{process.name}")
        broadcaster = EventBroadcaster(client, clock, random=random, hostname="simulated")
        informers = InformerFactory(client, clock=clock, random=random)
        scheduler = self._scheduler = Scheduler(
            config,
            client=client,
            informers=informers,
            registry=registry,
            features=features,
            clock=clock,
            random=random,
            metrics=metrics,
            events_of=cache(broadcaster.recorder),
            # Pods that hints forget must stay forgotten, to be found.
            max_in_unschedulable=1e9,
        )
        broadcaster.start()
        informers.start()
        await informers.wait_synced()
        scheduler.inbox.drain()
        await scheduler.run()

    async def _look_inside(self) -> None:
        """Check cache and queue now and then, between two cycles."""
        loop = asyncio.get_running_loop()
        while loop.time() < STORM_SECONDS:
            await asyncio.sleep(self._random.uniform(1.0, 20.0))
            scheduler = self._scheduler
            if scheduler is not None:
                scheduler.inbox.post(self._check, scheduler)

    def _check(self, scheduler: Scheduler) -> None:
        self._violations += check_inside(scheduler)

    # Disasters.

    async def _kill_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            if self._random.random() < 0.5:
                await self._kill_at_bind()
            elif self._random.random() < 0.3 and self._scheduler is not None:
                await self._scheduler.stop()
            else:
                for _ in range(self._random.randint(0, 8)):
                    await asyncio.sleep(0)
            self._process.kill()
            await asyncio.sleep(self._random.choice((0.1, self._random.uniform(0.0, 20.0))))
            self._start_scheduler()

    async def _kill_at_bind(self) -> None:
        """Kill the scheduler as its next bind is carried out, if there is one soon."""
        process, check, done = self._process, self._server.before_bind, asyncio.Event()

        def kill(pod: Json, node_name: str) -> None:
            check(pod, node_name)
            process.kill()
            done.set()

        self._server.before_bind = kill
        try:
            async with asyncio.timeout(10.0):
                await done.wait()
        except TimeoutError:
            return
        finally:
            self._server.before_bind = check

    async def _restart_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            if self._random.random() < 0.5:
                self._store.compact()
            await self._server.restart(self._random.choice((0.0, self._random.uniform(0.1, 20.0))))

    async def _compact_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            self._store.compact()

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))


class _Bugs(logging.Handler):
    """Listen to the log for exceptions that nobody expected."""

    def __init__(self, v: int | None) -> None:
        super().__init__()
        self.found: list[str] = []
        self._v = v
        self._log = logging.getLogger("mooring")

    def __enter__(self) -> None:
        self._before = self._log.propagate, self._log.level, list(self._log.handlers)
        self._log.propagate = False
        self._log.setLevel(logging.ERROR if self._v is None else logging.INFO - self._v)
        self._log.handlers = [self]

    def __exit__(self, *_: object) -> None:
        self._log.propagate, level, self._log.handlers = self._before
        self._log.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record that tells of a bug, and print what is asked for."""
        message = record.getMessage()
        if self._v is None and message not in BUGS:
            return
        pairs = getattr(record, "kv", {})
        text = ", ".join(f"{key}={_name(value)}" for key, value in pairs.items())
        error = f": {record.exc_info[1]!r}" if record.exc_info else ""
        if message in BUGS:
            self.found.append(f"{message}: {text}{error}")
        if self._v is not None:
            now = asyncio.get_running_loop().time()
            print(f"{now:10.4f} {record.module}: {message}: {text}{error}")


def _name(value: object) -> str:
    key = getattr(value, "key", None)
    return key if isinstance(key, str) else repr(value)


def _describe(context: dict[str, object]) -> str:
    return f"{context.get('message')}: {context.get('exception')!r}"


def _run_seeds(seeds: Sequence[int], v: int | None, jobs: int) -> Iterator[Report]:
    run = partial(run_seed, v=v)
    if jobs == 1 or len(seeds) == 1:
        yield from map(run, seeds)
        return
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(run, seeds, chunksize=10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds and print those that fail; return how that went as an exit status."""
    parser = argparse.ArgumentParser(prog="python -m mooring.simulate.soak", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one, and say how it went")
    parser.add_argument("--seeds", type=int, default=100, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes run them")
    parser.add_argument("--v", type=int, help="print the scheduler's log of this verbosity")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    if given.seed is not None:
        seeds = range(given.seed, given.seed + 1)
    started, failed, binds = time.monotonic(), 0, 0
    for report in _run_seeds(seeds, given.v, given.jobs):
        binds += report.binds
        if report.violations or given.seed is not None:
            failed += bool(report.violations)
            print(report, flush=True)
        if given.seed is not None:
            print(f"weather: {report.weather}\ndigest: {report.digest}")
    seconds = time.monotonic() - started
    print(f"{len(seeds)} seeds, {binds} binds, {failed} failed, {seconds:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
