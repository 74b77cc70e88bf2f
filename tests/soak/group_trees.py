"""Trees of composite pod groups, on virtual time, with faults from a seed.

    python -m tests.soak.group_trees --seed 17
    python -m tests.soak.group_trees --seeds 2000

One to three trees of two or three levels compete for a cluster that may be too small. Their objects
are created in a random order. Meanwhile pods, child groups and composite groups are deleted and
created again, gangs end, minCount is lowered, nodes are added, the scheduler is killed, often while
pods are being bound, and the API server fails. These rules must hold:

- no attempt places a pod of a group without a quorum, or in a second domain, and no failed attempt
  leaves a pod assumed (`AttemptChecks`);
- without faults and deletions, the pods that are bound make a quorum whenever nothing is in
  progress;
- every bind goes to a node with enough free resources, and no pod is bound twice (`Ledger`);
- no object is written over and over (`RequestRates`);
- when the faults are over, nothing is assumed, in flight or lost. With an even seed, nothing is
  pending that a new scheduler would place;
- when every object exists again and there are resources for all, every pod is bound.

The scheduler never flushes unschedulable groups, so a tree that no event wakes up stays pending.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from mooring.api.timestamps import format_time
from tests.soak.api_server import ApiServer
from tests.soak.bind_checks import FINISHED, Ledger
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.replica import Replica
from tests.soak.request_rates import RequestRates
from tests.soak.scenarios import NAMESPACE
from tests.soak.scheduler_sets import settings_with_gates
from tests.soak.seed_runs import run_seeds
from tests.soak.soak_journal import ReplicaJournals
from tests.soak.tree_checks import (
    COMPOSITES,
    POD_GROUPS,
    AttemptChecks,
    check_forgotten,
    check_rest,
    group_of,
)
from tests.soak.tree_plans import PLENTY, RACKS, GroupPlan, draw_plan, make_node, make_pod
from tests.support.virtual_loop import LoopClock, run_virtually

MODULE = "tests.soak.group_trees"
GATES = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup")

#: Virtual seconds of changes and faults.
STORM_SECONDS = 60.0
#: Virtual seconds after them in which informers catch up, and backoffs and timeouts end.
SETTLING_SECONDS = 400.0


class TreeReport(msgspec.Struct, frozen=True):
    """The result of one run."""

    seed: int
    violations: tuple[str, ...]
    #: The number of binds, and of kills while pods were being bound.
    binds: int
    kills_in_binding: int
    #: The number of pods that were pending after the faults, before nodes were added for all.
    pending: int
    #: The number of deletions, by kind: pods, pod groups, composite groups.
    deletions: tuple[int, int, int]

    def __str__(self) -> str:
        if not self.violations:
            return f"seed {self.seed}: {self.binds} binds, {self.pending} pending after the faults"
        lines = [f"seed {self.seed}: {violation}" for violation in self.violations]
        again = f"again: python -m {MODULE} --seed {self.seed}"
        return "\n".join([*lines, again])


class TreeRun:
    """One run. Owned by its virtual loop."""

    def __init__(self, seed: int, *, faults: bool = True, journals: Path | None = None) -> None:
        """Prepare a run; without `faults`, nothing fails and nothing is deleted either.

        The scheduler writes a journal to the folder `journals`.
        """
        self._seed = seed
        self._random = Random(f"{seed}/trees")
        self._plan = draw_plan(self._random, is_exact=seed % 2 == 0)
        self._store = ObjectStore()
        self._weather = draw_weather(Random(f"{seed}/weather"), STORM_SECONDS)
        self._faults = FaultPlan(self._weather, Random(f"{seed}/faults"))
        self._faults.active = self._with_faults = faults
        self._server = ApiServer(self._store, self._faults, LoopClock())
        self._ledger = Ledger(self._server, several=False)
        self._rates = RequestRates(self._server)
        self._violations: list[str] = []
        self._journals = None if journals is None else ReplicaJournals(journals)
        self._replica = Replica(
            "scheduler",
            settings_with_gates(*GATES),
            self._server,
            seed,
            lambda: AttemptChecks(self._violations),
            self._journals,
        )
        self._kills = 0
        self._pending = 0
        self._deletions = [0, 0, 0]

    def report(self) -> TreeReport:
        """Return the result of the run."""
        found = [
            *self._violations,
            *self._ledger.violations,
            *self._rates.violations,
            *self._replica.violations,
        ]
        return TreeReport(
            self._seed,
            tuple(dict.fromkeys(found)),
            len(self._ledger.binds),
            self._kills,
            self._pending,
            (self._deletions[0], self._deletions[1], self._deletions[2]),
        )

    async def run(self) -> None:
        """Create everything, cause faults, and check the state after them."""
        for node in self._plan.nodes:
            self._store.create(NODES, node)
        self._replica.start()
        disturbing = [asyncio.create_task(one) for one in self._disturbances()]
        await self._create_all([*self._group_makers(), *self._pod_makers()])
        while asyncio.get_running_loop().time() < STORM_SECONDS:
            await asyncio.sleep(self._random.expovariate(0.5))
            self._random.choice(self._actions())()
        await asyncio.gather(*disturbing)
        self._faults.active = False
        await self._settle()
        self._pending = sum(not pod["spec"].get("nodeName") for pod in self._live_pods())
        if self._plan.is_exact:
            self._violations += await check_forgotten(settings_with_gates(*GATES), self._store)
        await self._complete()
        unbound = [pod for pod in self._live_pods() if not pod["spec"].get("nodeName")]
        names = sorted(pod["metadata"]["name"] for pod in unbound)
        if names:
            self._violations.append(f"not bound although there is room: {', '.join(names)}")
        if self._journals is not None:
            self._journals.end()
        self._replica.kill()
        if self._journals is not None:
            self._journals.close()

    def _live_pods(self) -> list[Json]:
        return [pod for pod in self._store.list(PODS) if pod["status"]["phase"] not in FINISHED]

    # The end.

    async def _settle(self) -> None:
        """Wait until nothing is in progress, and check the scheduler's state."""
        await asyncio.sleep(SETTLING_SECONDS)
        scheduler = self._replica.scheduler
        if scheduler is None:
            self._violations.append("there is no scheduler")
            return
        self._violations += check_rest(scheduler, self._store)
        if not self._with_faults:
            self._check_whole()

    def _check_whole(self) -> None:
        """Check that every group with a bound pod, and each group above it, has its quorum."""
        bound = [group_of(pod) for pod in self._live_pods() if pod["spec"].get("nodeName")]
        for name in {one: None for one in bound if one}:
            group: GroupPlan | None = self._plan.groups[name]
            while group is not None:
                if not self._has_quorum(group, bound):
                    self._violations.append(f"{name} is bound without a quorum of {group.name}")
                group = self._plan.groups.get(group.parent)

    def _has_quorum(self, group: GroupPlan, bound: Sequence[str]) -> bool:
        found = self._store.find(_path(group), group.name, NAMESPACE)
        policy = {} if found is None else found["spec"]["schedulingPolicy"].get("gang", {})
        if not group.is_composite:
            return bound.count(group.name) >= policy.get("minCount", 1)
        ready = sum(self._has_quorum(one, bound) for one in self._plan.children(group.name))
        minimum: int = policy.get("minGroupCount", 1)
        return ready >= minimum

    async def _complete(self) -> None:
        """Create missing objects again, add nodes for all pods, and wait until nothing changes."""
        for pod in self._store.list(PODS):
            if pod["status"]["phase"] in FINISHED:
                self._store.remove(PODS, pod)
        await self._create_all(self._group_makers())
        await asyncio.sleep(SETTLING_SECONDS)
        self._free_torn_trees()
        await asyncio.sleep(SETTLING_SECONDS)
        for rack in RACKS:
            self._store.create(NODES, make_node(f"large-{rack}", PLENTY, rack))
        # Before there are free nodes, a pod of a higher priority would preempt others.
        await asyncio.sleep(SETTLING_SECONDS)
        await self._create_all(self._pod_makers())
        await self._settle()

    def _free_torn_trees(self) -> None:
        """Delete the pods of trees that are in several domains.

        That is not an error: while a child group was missing, the others were placed without it.
        """
        labels = {node["metadata"]["name"]: node["metadata"]["labels"] for node in self._nodes()}
        for group in self._plan.groups.values():
            pods = [
                pod
                for pod in self._live_pods()
                if pod["spec"].get("nodeName") and self._is_below(group_of(pod), group.name)
            ]
            places = {labels[pod["spec"]["nodeName"]].get(group.topology) for pod in pods}
            if group.topology and len(places) > 1:
                for pod in pods:
                    self._server.delete(PODS, pod["metadata"]["name"], NAMESPACE)

    def _nodes(self) -> list[Json]:
        return self._store.list(NODES)

    def _is_below(self, name: str, top: str) -> bool:
        return bool(name) and (name == top or self._is_below(self._plan.groups[name].parent, top))

    # Objects.

    async def _create_all(self, makers: list[Callable[[], None]]) -> None:
        """Create objects in a random order and at random times."""
        self._random.shuffle(makers)
        for make in makers:
            make()
            if self._random.random() < 0.3:
                await asyncio.sleep(self._random.expovariate(2.0))

    def _group_makers(self) -> list[Callable[[], None]]:
        return [partial(self._create_group, one) for one in self._plan.groups.values()]

    def _pod_makers(self) -> list[Callable[[], None]]:
        names = [f"single-{number}" for number in range(self._plan.singles)]
        pods = [
            *map(make_pod, names),
            *(leaf.make_pod(number) for leaf in self._plan.leaves() for number in range(leaf.pods)),
        ]
        return [partial(self._create_pod, pod) for pod in pods]

    def _create_group(self, group: GroupPlan) -> None:
        if self._store.find(_path(group), group.name, NAMESPACE) is None:
            created = format_time(asyncio.get_running_loop().time())
            self._store.create(_path(group), group.to_json(created))

    def _create_pod(self, pod: Json) -> None:
        if self._store.find(PODS, pod["metadata"]["name"], NAMESPACE) is None:
            self._store.create(PODS, pod)

    # Changes.

    def _actions(self) -> Sequence[Callable[[], None]]:
        if not self._with_faults:
            return (self._add_node, self._touch_group, self._lower_minimum)
        return (
            self._delete_pod,
            self._delete_pod,
            self._delete_group,
            self._delete_group,
            self._restore,
            self._restore,
            self._restore,
            self._finish_tree,
            self._add_node,
            self._touch_group,
            self._lower_minimum,
        )

    def _delete_pod(self) -> None:
        pods = self._store.list(PODS)
        if pods:
            self._deletions[0] += 1
            self._server.delete(PODS, self._random.choice(pods)["metadata"]["name"], NAMESPACE)

    def _delete_group(self) -> None:
        """Delete a pod group or a composite group; its pods and children stay."""
        path = self._random.choice((POD_GROUPS, COMPOSITES))
        if found := self._store.list(path):
            self._deletions[1 if path == POD_GROUPS else 2] += 1
            self._store.remove(path, self._random.choice(found))

    def _restore(self) -> None:
        """Create some of the deleted groups and pods again."""
        if self._random.random() < 0.5:
            self._create_group(self._random.choice(list(self._plan.groups.values())))
        for make in self._pod_makers():
            if self._random.random() < 0.3:
                make()

    def _finish_tree(self) -> None:
        """Let the pods of a tree succeed, if all of them have a node."""
        root = self._plan.root(self._random.choice(list(self._plan.groups)))
        pods = [pod for pod in self._live_pods() if self._is_below(group_of(pod), root.name)]
        if pods and all(pod["spec"].get("nodeName") for pod in pods):
            for pod in pods:
                self._store.replace(PODS, {**pod, "status": {"phase": "Succeeded"}})

    def _add_node(self) -> None:
        if len(self._nodes()) < len(self._plan.nodes) + 2 and self._random.random() < 0.5:
            rack = self._random.choice(list(RACKS))
            node = make_node(f"node-{len(self._nodes())}", self._random.randint(1, 4), rack)
            self._store.create(NODES, node)

    def _touch_group(self) -> None:
        """Change a label of a group, which must have no effect."""
        path = self._random.choice((POD_GROUPS, COMPOSITES))
        if found := self._store.list(path):
            group = self._random.choice(found)
            labels = {"touched": str(self._store.version)}
            self._store.replace(
                path, {**group, "metadata": {**group["metadata"], "labels": labels}}
            )

    def _lower_minimum(self) -> None:
        gangs = [
            one for one in self._store.list(POD_GROUPS) if "gang" in one["spec"]["schedulingPolicy"]
        ]
        if gangs and self._random.random() < 0.3:
            group = self._random.choice(gangs)
            count = group["spec"]["schedulingPolicy"]["gang"]["minCount"]
            policy = {"gang": {"minCount": max(1, count - 1)}}
            spec = {**group["spec"], "schedulingPolicy": policy}
            self._store.replace(POD_GROUPS, {**group, "spec": spec})

    # Faults.

    def _disturbances(self) -> Sequence[object]:
        if not self._with_faults:
            return ()
        weather = self._weather
        return (self._kill(), self._restart(weather.restarts), self._compact(weather.compactions))

    async def _kill(self) -> None:
        """Kill the scheduler at random times, often while pods are being bound.

        Do not kill it after the last changes, because a new process would hide what it has lost.
        """
        for _ in range(self._random.choice((0, 1, 3))):
            await asyncio.sleep(self._random.uniform(0.5, STORM_SECONDS / 4))
            if self._random.random() < 0.7:
                await self._until_binding()
            self._kills += self._is_binding()
            process = self._replica.process
            process.kill()
            await asyncio.sleep(self._random.uniform(0.1, 5.0))
            self._replica.start_again(process)

    def _is_binding(self) -> bool:
        scheduler = self._replica.scheduler
        return scheduler is not None and bool(scheduler.cache.assumed)

    async def _until_binding(self) -> None:
        for _ in range(200):
            if self._is_binding():
                return
            await asyncio.sleep(0.02)

    async def _restart(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))
            await self._server.restart(self._random.uniform(0.0, 10.0))

    async def _compact(self, moments: Sequence[float]) -> None:
        for moment in moments:
            await asyncio.sleep(max(0.0, moment - asyncio.get_running_loop().time()))
            self._store.compact()


def _path(group: GroupPlan) -> str:
    return COMPOSITES if group.is_composite else POD_GROUPS


def run_group_trees(seed: int, *, faults: bool = True, journals: Path | None = None) -> TreeReport:
    """Run one seed to its end; the scheduler writes a journal to the folder `journals`."""
    run = TreeRun(seed, faults=faults, journals=journals)
    run_virtually(run.run(), Random(f"{seed}/order"))
    return run.report()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run seeds and print those that fail; return the exit status."""
    return run_seeds(run_group_trees, MODULE, __doc__, arguments)


if __name__ == "__main__":
    sys.exit(main())
