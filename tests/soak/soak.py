"""Soak: the live scheduler on virtual time, against a simulated API server that fails.

One seed is one run: one or two schedulers, a workload and its faults for a minute or two of virtual
time, then a time without faults, then the final checks. Everything random comes from the seed, so a
failed run can be repeated by its number:

    python -m tests.soak.soak --seed 17
    python -m tests.soak.soak --seeds 1000 --jobs 2

What must hold:

- every bind goes to a node that had room at that moment, and no pod is bound twice (`Ledger`); if
  several schedulers share the nodes, as far as each had received the others' binds;
- a lease passes to another holder only if it has expired or was released, and no scheduler writes
  without it, not even one that was suspended and resumed (`LeaseJudge`);
- in the end every pod is bound that a scheduler with the current state would place, or make room
  for;
- no pod stays assumed or in flight forever, the queue holds exactly the pending pods, no
  nomination is left, and the cache equals the server's state;
- there are no unexpected exceptions.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import logging
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from mooring.scheduler.scheduler import Scheduler
from tests.soak.api_server import ApiServer
from tests.soak.approver import CALM_FROM
from tests.soak.bind_checks import Ledger
from tests.soak.faults import CLOCK_CHANGE_SECONDS, FaultPlan, Weather, draw_weather
from tests.soak.invariants import check_inside, check_statuses, reckon
from tests.soak.lease_checks import LEASES, LeaseJudge
from tests.soak.object_store import Json, ObjectStore
from tests.soak.replica import Replica, ReplicaTap
from tests.soak.scenarios import Workload
from tests.soak.scheduler_sets import Cast, Company, draw_cast, settings_of
from tests.soak.soak_journal import ReplicaJournals
from tests.support.virtual_loop import (
    LoopClock,
    StandstillError,
    VirtualLoop,
    current_process,
    run_virtually,
)

#: Virtual seconds of faults.
STORM_SECONDS = CALM_FROM
#: Virtual seconds without faults: a watch that silently died is noticed after 150.
CALM_SECONDS = 420.0

#: Log messages about unexpected exceptions.
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
        "An observer of the scheduler failed",
    )
)


class Report(msgspec.Struct, frozen=True):
    """The result of one run."""

    seed: int
    violations: tuple[str, ...]
    binds: int
    #: A digest of everything that happened: the same for the same seed.
    digest: str
    company: Company
    weather: Weather

    def __str__(self) -> str:
        if not self.violations:
            return f"seed {self.seed}: {self.binds} pods bound, all well"
        lines = [f"seed {self.seed}: {violation}" for violation in self.violations]
        return "\n".join([*lines, f"again: python -m tests.soak.soak --seed {self.seed}"])


def run_seed(
    seed: int,
    v: int | None = None,
    tap: Callable[[], ReplicaTap] | None = None,
    journals: Path | None = None,
) -> Report:
    """Run one seed to its end; with `v` the scheduler's log of that verbosity is printed.

    `tap` makes an observer of each scheduler process. With `journals`, each scheduler writes a
    journal to a folder of its name in that one.
    """
    faults = _Bugs(v)
    with faults:
        soak = _Soak(seed, tap, journals)
        try:
            run_virtually(soak.run(), Random(f"{seed}/order"))
        except StandstillError as error:
            faults.found.append(str(error))
        finally:
            soak.close()
    return soak.report(faults.found)


def _cast_of(seed: int) -> Cast:
    return draw_cast(Random(f"{seed}/cast"))


def company_of(seed: int) -> Company:
    """Return how schedulers share the cluster of a seed."""
    return _cast_of(seed).company


class _Soak:
    """One run."""

    def __init__(
        self,
        seed: int,
        tap: Callable[[], ReplicaTap] | None = None,
        journals: Path | None = None,
    ) -> None:
        self._seed = seed
        self._random = Random(f"{seed}/soak")
        self._store = ObjectStore()
        self._weather = draw_weather(Random(f"{seed}/weather"), STORM_SECONDS)
        self._faults = FaultPlan(self._weather, Random(f"{seed}/faults"))
        self._server = ApiServer(self._store, self._faults, LoopClock())
        self._cast = _cast_of(seed)
        elects = self._cast.company is Company.REPLICAS
        self._ledger = Ledger(self._server, several=self._cast.company is not Company.ALONE)
        self._replicas: list[Replica] = []
        self._journals: list[ReplicaJournals] = []
        for number, names in enumerate(self._cast.names, 1):
            name, settings = f"scheduler-{number}", settings_of(names, elects)
            journal = None if journals is None else ReplicaJournals(journals / name)
            if journal is not None:
                self._journals.append(journal)
            self._replicas.append(Replica(name, settings, self._server, seed, tap, journal))
        self._lease_judge: LeaseJudge | None = None
        if elects:
            election = settings_of(self._cast.names[0], elects).config.config.leader_election
            self._lease_judge = LeaseJudge(self._server, election)
            self._server.late_writes = True
        self._digest = hashlib.sha256()
        self._at_bind: list[Callable[[], None]] = []
        self._at_renewal: list[Callable[[], None]] = []
        self._violations: list[str] = []

    def report(self, bugs: Iterable[str]) -> Report:
        """Return the result of the run."""
        violations = [*self._ledger.violations, *self._violations, *bugs]
        for judge in (*self._replicas, self._lease_judge):
            if judge is not None:
                violations += judge.violations
        return Report(
            self._seed,
            tuple(dict.fromkeys(violations)),
            len(self._ledger.binds),
            self._digest.hexdigest(),
            self._cast.company,
            self._weather,
        )

    def close(self) -> None:
        """Close the journals."""
        for journal in self._journals:
            journal.close()

    async def run(self) -> None:
        """Run the workload with faults, then without, then the final checks."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self._store.listen(self._note)
        self._hook_binds()
        names = self._cast.all_names
        workload = Workload(self._server, Random(f"{self._seed}/workload"), names)
        for replica in self._replicas:
            replica.start()
        work = [
            loop.create_task(one)
            for one in (
                workload.run(STORM_SECONDS),
                self._kill_at(self._weather.kills),
                self._part_at(self._weather.partitions or self._lonely_moments()),
                self._suspend_at(self._weather.suspensions or self._lonely_moments()),
                self._set_clocks_at(self._weather.clock_changes),
                self._restart_at(self._weather.restarts),
                self._compact_at(self._weather.compactions),
                self._look_inside(),
            )
        ]
        await asyncio.gather(*work)
        await asyncio.sleep(max(0.0, STORM_SECONDS - loop.time()))
        self._faults.active = False
        await asyncio.sleep(CALM_SECONDS)
        await self._reckon()
        self._violations += [_describe(context) for context in loop.failures]
        for journal in self._journals:
            journal.end()
        for replica in self._replicas:
            replica.kill()

    async def _reckon(self) -> None:
        for number, replica in enumerate(self._replicas, 1):
            assert replica.scheduler is not None
            found = await reckon(
                replica.scheduler,
                self._store,
                leads=replica.leads,
                elected=self._lease_judge is not None,
            )
            if len(self._replicas) > 1:
                found = [f"scheduler-{number}: {text}" for text in found]
            self._violations += found
        if self._lease_judge is None:
            # A new leader that has not received a bind yet may write that the pod is pending, as
            # kube-scheduler does; a kubelet corrects it.
            self._violations += check_statuses(self._store)
        leaders = sum(replica.leads for replica in self._replicas)
        wanted = 1 if self._lease_judge is not None else len(self._replicas)
        if leaders != wanted:
            self._violations.append(f"{leaders} schedulers lead, and {wanted} should")

    def _note(self, collection: str) -> None:
        """Add a change to the digest."""
        loop = asyncio.get_running_loop()
        for change in self._store.since(collection, self._store.version - 1):
            self._digest.update(f"{loop.time():.9f} {change.type} ".encode())
            self._digest.update(msgspec.json.encode(change.object))
        if collection == LEASES:
            _do(self._at_renewal)

    async def _look_inside(self) -> None:
        """Check cache and queue at random times, between two cycles."""
        loop = asyncio.get_running_loop()
        while loop.time() < STORM_SECONDS:
            await asyncio.sleep(self._random.uniform(1.0, 20.0))
            for replica in self._replicas:
                if replica.scheduler is not None:
                    replica.scheduler.inbox.post(self._check, replica.scheduler)

    def _check(self, scheduler: Scheduler) -> None:
        self._violations += check_inside(scheduler)

    # Disasters.

    def _some_replica(self) -> Replica:
        """Choose the replica to disturb, more often one that leads."""
        if len(self._replicas) == 1:
            return self._replicas[0]
        leaders = [replica for replica in self._replicas if replica.leads]
        wanted = leaders if leaders and self._random.random() < 0.7 else self._replicas
        return self._random.choice(wanted)

    async def _kill_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            replica = self._some_replica()
            process = replica.process
            if self._random.random() < 0.5:
                await self._at_next_bind(process.kill)
            elif self._random.random() < 0.3:
                await replica.stop()
            else:
                for _ in range(self._random.randint(0, 8)):
                    await asyncio.sleep(0)
            process.kill()
            await asyncio.sleep(self._random.choice((0.1, self._random.uniform(0.0, 20.0))))
            replica.start_again(process)

    def _lonely_moments(self) -> tuple[float, ...]:
        """Return a moment for a network failure, in runs in which another replica can take over."""
        return (self._random.uniform(10.0, 60.0),) if self._lease_judge is not None else ()

    async def _part_at(self, moments: Sequence[float]) -> None:
        """Take the network of a scheduler down for a while, at some moments."""
        for moment in moments:
            await self._until(moment)
            process = self._some_replica().process
            process.link.clear()
            await asyncio.sleep(self._random.choice((2.0, self._random.uniform(5.0, 40.0))))
            process.link.set()

    async def _suspend_at(self, moments: Sequence[float]) -> None:
        """Suspend the process of a scheduler for a while, as with SIGSTOP and SIGCONT."""
        for moment in moments:
            await self._until(moment)
            process = self._some_replica().process
            chance = self._random.random()
            if chance < 0.3:
                await self._at_next_bind(process.suspend)
            elif chance < 0.6:
                # The response to the renewal waits until the process is resumed.
                await self._when(self._at_renewal, process.suspend)
            process.suspend()
            await asyncio.sleep(self._random.choice((2.0, self._random.uniform(5.0, 40.0))))
            process.resume()

    async def _set_clocks_at(self, moments: Sequence[float]) -> None:
        """Set the wall clock of a scheduler at some moments."""
        random = Random(f"{self._seed}/clocks")
        for moment in moments:
            await self._until(moment)
            change = random.uniform(-CLOCK_CHANGE_SECONDS, CLOCK_CHANGE_SECONDS)
            random.choice(self._replicas).set_clock(change)

    def _hook_binds(self) -> None:
        check = self._server.before_bind

        def bound(pod: Json, node_name: str) -> None:
            check(pod, node_name)
            _do(self._at_bind)

        self._server.before_bind = bound

    async def _at_next_bind(self, act: Callable[[], None]) -> None:
        """Call `act` when the next bind is applied, if there is one soon."""
        await self._when(self._at_bind, act)

    async def _when(self, acts: list[Callable[[], None]], act: Callable[[], None]) -> None:
        """Add `act` to the list of acts, and wait a while until it is called."""
        done = asyncio.Event()

        def both() -> None:
            act()
            done.set()

        acts.append(both)
        try:
            async with asyncio.timeout(10.0):
                await done.wait()
        except TimeoutError:
            acts.remove(both)

    async def _restart_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            if self._random.random() < 0.5:
                self._store.compact()
            if self._random.random() < 0.5:
                await self._at_next_bind(self._server.go_down)
            await self._server.restart(self._outage())

    def _outage(self) -> float:
        """Return for how many seconds a server is down; rarely for long."""
        if self._random.random() < 0.1:
            return self._random.uniform(60.0, 100.0)
        return self._random.choice((0.0, self._random.uniform(0.1, 20.0)))

    async def _compact_at(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await self._until(moment)
            self._store.compact()

    async def _until(self, moment: float) -> None:
        await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))


class _Bugs(logging.Handler):
    """A log handler that collects unexpected exceptions."""

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
        """Keep records about bugs, and print records up to the chosen verbosity."""
        message = record.getMessage()
        if self._v is None and message not in BUGS:
            return
        pairs = getattr(record, "kv", {})
        text = ", ".join(f"{key}={_name(value)}" for key, value in pairs.items())
        error = f": {record.exc_info[1]!r}" if record.exc_info else ""
        process = current_process()
        if message in BUGS and not (process is not None and process.dead):
            # Killing a process here cancels its tasks, which it logs. A real one could not.
            self.found.append(f"{message}: {text}{error}")
        if self._v is not None:
            now = asyncio.get_running_loop().time()
            print(f"{now:10.4f} {record.module}: {message}: {text}{error}")


def _do(acts: list[Callable[[], None]]) -> None:
    """Call and remove all pending acts."""
    while acts:
        acts.pop(0)()


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
    """Run seeds and print those that fail; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.soak", description=__doc__)
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
            print(f"company: {report.company.name}\nweather: {report.weather}")
            print(f"digest: {report.digest}")
    seconds = time.monotonic() - started
    print(f"{len(seeds)} seeds, {binds} binds, {failed} failed, {seconds:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
