from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.soak.api_server import ApiServer
from tests.soak.bind_checks import Ledger
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.object_store import NODES, PODS, ObjectStore
from tests.soak.witness import Belief
from tests.support.virtual_loop import LoopClock, Process, run_virtually


def make_pod(name: str, cpu: str, node: str = "", phase: str = "Running") -> dict[str, Any]:
    container = {"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    spec = {"containers": [container], "nodeName": node}
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase}}


def judge(*others: dict[str, Any], cpu: str = "1", node: str = "node") -> list[str]:
    """Bind a pod beside others to a node of 4 cpus, 8Gi and room for three pods."""
    store = ObjectStore()
    server = ApiServer(store, FaultPlan(draw_weather(Random(0), 1.0), Random(0)), LoopClock())
    ledger = Ledger(server)
    offer = {"cpu": "4", "memory": "8Gi", "pods": "3"}
    store.create(NODES, {"metadata": {"name": "node"}, "status": {"allocatable": offer}})
    for other in others:
        store.create(PODS, other)
    server.before_bind(store.create(PODS, make_pod("p", cpu)), node)
    return ledger.violations


@pytest.mark.parametrize(
    ("others", "cpu", "node", "wrong"),
    [
        pytest.param([("3", "node")], "1", "node", "", id="a pod that just fits"),
        pytest.param([("3500m", "node")], "1", "node", "500m cpu left", id="one that does not"),
        pytest.param([("3500m", "other")], "1", "node", "", id="pods elsewhere do not count"),
        pytest.param([("0", "node")] * 3, "0", "node", "too many pods", id="one pod too many"),
        pytest.param([], "1", "nowhere", "which never was", id="a node that never was"),
    ],
)
def test_room_is_counted_by_what_is_bound(
    others: list[tuple[str, str]], cpu: str, node: str, wrong: str
) -> None:
    pods = [make_pod(f"other-{n}", amount, where) for n, (amount, where) in enumerate(others)]
    violations = judge(*pods, cpu=cpu, node=node)
    assert (wrong in violations[0]) if wrong else not violations


def test_pods_that_have_ended_take_no_room() -> None:
    assert judge(make_pod("done", "4", "node", phase="Succeeded")) == []


class Shared:
    """A node of 4 cpus that two schedulers share."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        plan = FaultPlan(draw_weather(Random(0), 1.0), Random(0))
        self.server = ApiServer(self.store, plan, LoopClock())
        self.ledger = Ledger(self.server, several=True)
        self.processes = {name: Process(name) for name in "ab"}
        offer = {"cpu": "4", "memory": "8Gi", "pods": "9"}
        self.store.create(NODES, {"metadata": {"name": "node"}, "status": {"allocatable": offer}})

    async def bind(self, who: str, name: str, *, knows: str = "", node: str = "node") -> None:
        """Bind a pod of 3 cpus as a scheduler that knows of another pod."""
        pod = self.store.find(PODS, name, "default")
        if pod is None:
            pod = self.store.create(PODS, make_pod(name, "3"))
        process, uid = self.processes[who], pod["metadata"]["uid"]
        other = self.store.find(PODS, knows, "default")
        there = frozenset() if other is None else frozenset((other["metadata"]["uid"],))
        process.notes.setdefault(uid, Belief(there, bound=knows == name))

        async def act() -> None:
            if pod["spec"]["nodeName"]:
                self.server.bound_before(pod, node)
                return
            self.server.before_bind(pod, node)
            self.store.replace(PODS, {**pod, "spec": {**pod["spec"], "nodeName": node}})

        await process.start(act())

    def phase(self, name: str) -> str:
        return str(self.store.get(PODS, name, "default")["status"]["phase"])


def share(scenario: Callable[[Shared], Any]) -> Shared:
    async def play() -> Shared:
        shared = Shared()
        await scenario(shared)
        await asyncio.sleep(10.0)
        return shared

    return run_virtually(play(), Random(0))


@pytest.mark.parametrize(
    ("first", "knows", "wrong"),
    [
        pytest.param("a", "", "", id="not those of others that it was not told of"),
        pytest.param("a", "one", "1000m cpu left", id="those of others that it was told of"),
        pytest.param("b", "", "1000m cpu left", id="its own, told or not"),
    ],
)
def test_what_counts_for_one_of_several_schedulers(first: str, knows: str, wrong: str) -> None:
    async def scenario(shared: Shared) -> None:
        await shared.bind(first, "one")
        await shared.bind("b", "two", knows=knows)

    shared = share(scenario)
    assert (wrong in shared.ledger.violations[0]) if wrong else not shared.ledger.violations
    assert (shared.phase("one"), shared.phase("two")) == ("Running", "Failed")


@pytest.mark.parametrize(
    ("who", "knows", "wrong"),
    [
        pytest.param("b", "", False, id="another that does not know"),
        pytest.param("b", "one", True, id="another that knows"),
        pytest.param("a", "", True, id="who did it"),
    ],
)
def test_who_may_try_to_bind_again_among_several(who: str, knows: str, wrong: bool) -> None:
    async def scenario(shared: Shared) -> None:
        await shared.bind("a", "one")
        await shared.bind(who, "one", knows=knows, node="other")

    assert bool(share(scenario).ledger.violations) is wrong
