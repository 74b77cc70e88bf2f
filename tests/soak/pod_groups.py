"""Pod groups of scheduling.k8s.io: two gangs of eight that fit one at a time, with faults.

    python -m tests.soak.pod_groups --seed 17
    python -m tests.soak.pod_groups --seeds 2000

As tests.soak.gangs, with the kind that the scheduler itself treats as one. The scheduler is killed
at random moments, often in the middle of a gang's binding. Besides what holds there:

- no partial gang is ever left: once a member of a gang is bound, all of them are bound before any
  member of the other gang, also across kills;
- no group is lost: both run in the end, although unschedulable groups are never flushed;
- no group is left half-assumed: when both have run, nothing is assumed or in flight, and cache,
  queue and groups are consistent.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from random import Random
from typing import Any

import msgspec

from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from tests.soak.gangs import (
    GANGS,
    MEMBERS,
    STORM_SECONDS,
    GangReport,
    GangRun,
    gang_of,
    make_member,
)
from tests.soak.object_store import PODS, Json
from tests.soak.replica import ReplicaTap
from tests.soak.scenarios import NAMESPACE, SCHEDULER
from tests.soak.scheduler_sets import Settings
from tests.support.virtual_loop import run_virtually

#: Virtual seconds after the faults in which informers catch up.
SETTLING_SECONDS = 120.0

WORKLOAD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/podgroups"


@cache
def group_settings() -> Settings:
    """Return the settings of a scheduler with pod groups."""
    registry, features = default_registry(), FeatureGates({"GenericWorkload": True})
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "leaderElection": {"leaderElect": False},
            "profiles": [{"schedulerName": SCHEDULER}],
        },
        registry=registry,
        feature_gates=features,
    )
    return Settings(registry, features, config)


class PodGroupRun(GangRun):
    """One run of two gangs that are pod groups."""

    groups = WORKLOAD_GROUPS

    def settings(self) -> Settings:
        """Return the settings of a scheduler with pod groups."""
        return group_settings()

    def make_group(self, name: str) -> Json:
        """Return the PodGroup of a gang."""
        return {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"schedulingPolicy": {"gang": {"minCount": MEMBERS}}, "priority": 0},
        }

    def make_member(self, gang: str, number: int) -> Json:
        """Return a member of a gang, which names its group in the spec."""
        pod = make_member(gang, number)
        spec: Any = {**pod["spec"], "schedulingGroup": {"podGroupName": gang}}
        return {**pod, "spec": spec}

    def is_worth_a_kill(self) -> bool:
        """Return whether a gang is partly bound."""
        bound = [
            sum(bool(pod["spec"].get("nodeName")) for pod in self._store.list(PODS) if _is(pod, g))
            for g in GANGS
        ]
        return any(0 < count < MEMBERS for count in bound)

    async def check_at_end(self) -> None:
        """Wait for the end of the faults, and check that nothing is left of the attempts."""
        await asyncio.sleep(max(0.0, STORM_SECONDS - asyncio.get_running_loop().time()))
        self._faults.active = False
        await asyncio.sleep(SETTLING_SECONDS)
        scheduler = self._replica.scheduler
        if scheduler is None:
            return
        violations = self._ledger.violations
        if len(self._finished) == len(GANGS):
            violations += [f"{uid} is still assumed" for uid in scheduler.cache.assumed]
            violations += [f"{pod.key} is in flight" for pod in scheduler.queue.in_flight()]
        parts: tuple[Any, ...] = (scheduler.cache, scheduler.queue, scheduler.pod_groups)
        for part in parts:
            try:
                part.validate()
            except AssertionError as error:
                violations.append(f"{type(part).__name__}.validate: {error}")

    def report(self) -> GangReport:
        """Return the result of the run."""
        runs = [(gang, len(list(binds))) for gang, binds in groupby(self._binds)]
        if len(runs) > len(GANGS):
            self._ledger.violations.append(f"a partial gang was bound: {runs}")
        return msgspec.structs.replace(super().report(), module="tests.soak.pod_groups")


def _is(pod: Json, gang: str) -> bool:
    return gang_of(pod) == gang


def run_pod_groups(
    seed: int, *, faults: bool = True, tap: Callable[[], ReplicaTap] | None = None
) -> GangReport:
    """Run one seed to its end; `tap` makes an observer of each scheduler process."""
    run = PodGroupRun(seed, faults=faults, tap=tap)
    run_virtually(run.run(), Random(f"{seed}/order"))
    return run.report()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds and print those that fail; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.pod_groups", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this one, and say how it went")
    parser.add_argument("--seeds", type=int, default=100, help="how many to run")
    given = parser.parse_args(arguments)
    seeds = range(given.seeds) if given.seed is None else range(given.seed, given.seed + 1)
    failed = 0
    for seed in seeds:
        report = run_pod_groups(seed)
        failed += bool(report.violations)
        if report.violations or given.seed is not None:
            print(report)
    print(f"{len(seeds)} seeds, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
