from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mooring.simulate.api_server import ApiServer
from mooring.simulate.faults import FaultPlan, draw_weather
from mooring.simulate.ledger import Ledger
from mooring.simulate.object_store import NODES, PODS, ObjectStore
from mooring.simulate.virtual_loop import LoopClock


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
