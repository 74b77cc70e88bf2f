"""Gangs: two groups of eight that fit one at a time, on virtual time, with faults from a seed.

    python -m tests.soak.gangs --seed 17
    python -m tests.soak.gangs --seeds 100

Two gangs of eight are created in a random order on a cluster with room for eight pods. A gang that
has all its nodes runs for a while and ends, which makes room for the other. Meanwhile the scheduler
is killed at random moments, often while members wait at Permit, and the API server fails. What must
hold:

- both gangs run in the end: they never block each other, and no member is lost;
- every bind goes to a node that had room, and no pod is bound twice (`Ledger`);
- without faults, all members of one gang are bound before any member of the other.

The scheduler never flushes unschedulable pods, so a pod that no event wakes up stays pending.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from mooring.api import POD_GROUP_LABEL
from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from tests.soak.api_server import ApiServer
from tests.soak.bind_checks import Ledger
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.replica import Replica, ReplicaTap
from tests.soak.scenarios import NAMESPACE, SCHEDULER
from tests.soak.scheduler_sets import Settings
from tests.soak.soak_journal import ReplicaJournals
from tests.support.virtual_loop import LoopClock, run_virtually

POD_GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"
GANGS = ("red", "blue")
MEMBERS = 8
#: Virtual seconds of faults, and those within which both gangs must have run after them.
STORM_SECONDS = 60.0
CALM_SECONDS = 900.0


class GangReport(msgspec.Struct, frozen=True):
    """The result of one run."""

    seed: int
    violations: tuple[str, ...]
    #: The gangs of the members in the order of their binds.
    binds: tuple[str, ...]
    #: Kills of the scheduler while members waited at Permit.
    kills_at_permit: int
    #: Virtual seconds until both gangs had run.
    seconds: float
    #: The module that repeats the run.
    module: str = "tests.soak.gangs"

    def __str__(self) -> str:
        if not self.violations:
            return f"seed {self.seed}: both gangs ran within {self.seconds:.0f} s"
        lines = [f"seed {self.seed}: {violation}" for violation in self.violations]
        return "\n".join([*lines, f"again: python -m {self.module} --seed {self.seed}"])


@cache
def settings() -> Settings:
    """Return the settings of a scheduler that runs Coscheduling."""
    registry, features = default_registry(), FeatureGates()
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [
                {
                    "schedulerName": SCHEDULER,
                    "plugins": {
                        "multiPoint": {
                            "enabled": [{"name": "Coscheduling"}],
                            "disabled": [{"name": "PrioritySort"}],
                        }
                    },
                    "pluginConfig": [
                        {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}
                    ],
                }
            ],
        },
        registry=registry,
        feature_gates=features,
    )
    return Settings(registry, features, config)


class GangRun:
    """One run, of gangs of Coscheduling; a subclass may have gangs of another kind."""

    #: The collection of the groups.
    groups = POD_GROUPS

    def __init__(
        self,
        seed: int,
        *,
        faults: bool = True,
        tap: Callable[[], ReplicaTap] | None = None,
        journals: Path | None = None,
    ) -> None:
        self._seed = seed
        self._random = Random(f"{seed}/gangs")
        self._store = ObjectStore()
        self._weather = draw_weather(Random(f"{seed}/weather"), STORM_SECONDS)
        self._faults = FaultPlan(self._weather, Random(f"{seed}/faults"))
        self._faults.active = faults
        self._server = ApiServer(self._store, self._faults, LoopClock())
        self._ledger = Ledger(self._server, several=False)
        self._journals = None if journals is None else ReplicaJournals(journals)
        self._replica = Replica(
            "scheduler", self.settings(), self._server, seed, tap, self._journals
        )
        self._with_faults = faults
        self._binds: list[str] = []
        self._kills_at_permit = 0
        self._finished: list[str] = []
        self._seconds = 0.0

    def settings(self) -> Settings:
        """Return the settings of the scheduler."""
        return settings()

    def make_group(self, name: str) -> Json:
        """Return the group of a gang."""
        return make_group(name)

    def make_member(self, gang: str, number: int) -> Json:
        """Return a member of a gang."""
        return make_member(gang, number)

    def is_worth_a_kill(self) -> bool:
        """Return whether this is a moment at which a kill may do harm: members wait at Permit."""
        scheduler = self._replica.scheduler
        return scheduler is not None and bool(list(scheduler.on_the_way.waiting()))

    async def check_at_end(self) -> None:
        """Check what must hold when nothing is in progress; the ledger takes violations."""

    def report(self) -> GangReport:
        """Return the result of the run."""
        violations = [*self._ledger.violations, *self._replica.violations]
        for gang in GANGS:
            if gang not in self._finished:
                pods = [pod for pod in self._store.list(PODS) if gang_of(pod) == gang]
                bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
                violations.append(f"gang {gang} has not run: {bound} of {len(pods)} have a node")
        return GangReport(
            self._seed,
            tuple(dict.fromkeys(violations)),
            tuple(self._binds),
            self._kills_at_permit,
            self._seconds,
        )

    async def run(self) -> None:
        """Create the gangs, disturb the scheduler, and wait until both have run."""
        loop = asyncio.get_running_loop()
        check = self._server.before_bind

        def bound(pod: Json, node_name: str) -> None:
            check(pod, node_name)
            self._binds.append(gang_of(pod))

        self._server.before_bind = bound
        for name in ("node-1", "node-2"):
            self._store.create(NODES, make_node(name, MEMBERS // 2))
        for gang in GANGS:
            self._store.create(self.groups, self.make_group(gang))
        self._replica.start()
        disturbing = asyncio.create_task(self._disturb()) if self._with_faults else None
        await self._create()
        end = STORM_SECONDS + CALM_SECONDS
        while len(self._finished) < len(GANGS) and loop.time() < end:
            await asyncio.sleep(1.0)
            if self._with_faults and loop.time() >= STORM_SECONDS:
                self._faults.active = False
            await self._finish_gangs()
        self._seconds = loop.time()
        await self.check_at_end()
        if disturbing is not None:
            disturbing.cancel()
        if self._journals is not None:
            self._journals.end()
        self._replica.kill()
        if self._journals is not None:
            self._journals.close()

    async def _create(self) -> None:
        """Create the members of both gangs, in a random order and at random moments."""
        members = [(gang, number) for gang in GANGS for number in range(MEMBERS)]
        self._random.shuffle(members)
        for gang, number in members:
            self._store.create(PODS, self.make_member(gang, number))
            if self._random.random() < 0.3:
                await asyncio.sleep(self._random.expovariate(2.0))

    async def _finish_gangs(self) -> None:
        """Let a gang that has all its nodes run for a while and end."""
        for gang in GANGS:
            pods = [pod for pod in self._store.list(PODS) if gang_of(pod) == gang]
            if gang in self._finished or not all(pod["spec"].get("nodeName") for pod in pods):
                continue
            await asyncio.sleep(self._random.uniform(0.0, 5.0))
            for pod in pods:
                self._store.replace(PODS, {**pod, "status": {"phase": "Succeeded"}})
            self._finished.append(gang)

    async def _disturb(self) -> None:
        """Kill the scheduler now and then, often while members wait at Permit."""
        loop = asyncio.get_running_loop()
        while loop.time() < STORM_SECONDS:
            await asyncio.sleep(self._random.uniform(0.5, 20.0))
            if self._random.random() < 0.7:
                await self._until_some_wait()
            self._kills_at_permit += self.is_worth_a_kill()
            process = self._replica.process
            process.kill()
            await asyncio.sleep(self._random.uniform(0.1, 5.0))
            self._replica.start_again(process)

    async def _until_some_wait(self) -> None:
        """Wait for a moment that is worth a kill, but not for long."""
        for _ in range(200):
            if self.is_worth_a_kill():
                return
            await asyncio.sleep(0.02)


def gang_of(pod: Json) -> str:
    """Return the name of a member's gang."""
    name: str = pod["metadata"]["labels"][POD_GROUP_LABEL]
    return name


def make_group(name: str) -> Json:
    """Return the PodGroup of a gang."""
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "creationTimestamp": "2026-03-01T12:00:00Z",
        },
        "spec": {"minMember": MEMBERS},
    }


def make_member(gang: str, number: int) -> Json:
    """Return a member of a gang, which takes an eighth of the cluster."""
    requests = {"cpu": "1", "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{gang}-{number}",
            "namespace": NAMESPACE,
            "labels": {POD_GROUP_LABEL: gang},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
            "priority": 0,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 30,
        },
        "status": {"phase": "Pending"},
    }


def make_node(name: str, cpu: int) -> Json:
    """Return a node with room for so many members."""
    offer = {"cpu": str(cpu), "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": offer, "capacity": offer},
    }


def run_gangs(
    seed: int, *, faults: bool = True, tap: Callable[[], ReplicaTap] | None = None
) -> GangReport:
    """Run one seed to its end; `tap` makes an observer of each scheduler process."""
    run = GangRun(seed, faults=faults, tap=tap)
    run_virtually(run.run(), Random(f"{seed}/order"))
    return run.report()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds and print those that fail; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.gangs", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one, and say how it went")
    parser.add_argument("--seeds", type=int, default=100, help="how many to run")
    given = parser.parse_args(arguments)
    seeds = range(given.seeds) if given.seed is None else range(given.seed, given.seed + 1)
    reports = [run_gangs(seed) for seed in seeds]
    failed = [report for report in reports if report.violations]
    for report in failed if given.seed is None else reports:
        print(report)
    kills = sum(report.kills_at_permit for report in reports)
    print(f"{len(seeds)} seeds, {kills} kills at Permit, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
