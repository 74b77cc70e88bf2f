"""Pod groups of scheduling.k8s.io: two gangs of eight that fit one at a time, with faults.

    python -m tests.soak.pod_groups --seed 17
    python -m tests.soak.pod_groups --seeds 2000

As tests.soak.gangs, with the kind that the scheduler itself treats as one. The scheduler is killed
at random moments, often in the middle of a gang's binding. With an odd seed, a gang must go to one
rack, of which there are two, and one of them is too small. Besides what holds there:

- no partial gang is ever left: once a member of a gang is bound, all of them are bound before any
  member of the other gang, also across kills;
- no group is lost: both run in the end, although unschedulable groups are never flushed;
- with racks, every member is bound in the rack that is large enough;
- no group is left half-assumed: when both have run, nothing is assumed or in flight, and cache,
  queue and groups are consistent.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from random import Random
from typing import Any

import msgspec

from tests.soak.gangs import (
    GANGS,
    MEMBERS,
    STORM_SECONDS,
    GangReport,
    GangRun,
    gang_of,
    make_member,
    make_node,
)
from tests.soak.object_store import PODS, Json
from tests.soak.replica import ReplicaTap
from tests.soak.scenarios import NAMESPACE
from tests.soak.scheduler_sets import Settings, settings_with_gates
from tests.soak.seed_runs import run_seeds
from tests.support.virtual_loop import run_virtually

MODULE = "tests.soak.pod_groups"

#: Virtual seconds after the faults in which informers catch up.
SETTLING_SECONDS = 120.0

WORKLOAD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/podgroups"


#: The label of the racks, and the node of the small one.
RACK = "example.com/rack"
SMALL_NODE = "node-3"


class PodGroupRun(GangRun):
    """One run of two gangs that are pod groups."""

    groups = WORKLOAD_GROUPS

    @property
    def has_racks(self) -> bool:
        """Return whether a gang must go to one rack."""
        return self._seed % 2 == 1

    def settings(self) -> Settings:
        """Return the settings of a scheduler with pod groups, which may be bound to racks."""
        gates = ["GenericWorkload", "TopologyAwareWorkloadScheduling"]
        return settings_with_gates(*gates[: 1 + self.has_racks])

    def make_nodes(self) -> list[Json]:
        """Return the nodes; with racks, also one of a rack that is too small."""
        nodes = super().make_nodes()
        if self.has_racks:
            nodes.append(make_node(SMALL_NODE, MEMBERS // 2))
            for node in nodes:
                rack = "small" if node["metadata"]["name"] == SMALL_NODE else "large"
                node["metadata"]["labels"][RACK] = rack
        return nodes

    def make_group(self, name: str) -> Json:
        """Return the PodGroup of a gang."""
        spec: Json = {"schedulingPolicy": {"gang": {"minCount": MEMBERS}}, "priority": 0}
        if self.has_racks:
            spec["schedulingConstraints"] = {"topology": [{"key": RACK}]}
        return {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": spec,
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
        if SMALL_NODE in self._used:
            violations.append("a member was bound in the small rack")
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
        return msgspec.structs.replace(super().report(), module=MODULE)


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
    return run_seeds(run_pod_groups, MODULE, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
