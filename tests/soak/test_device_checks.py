"""The judge of devices finds what it is there for."""

from __future__ import annotations

from typing import Any

from tests.soak.device_checks import CLAIMS, DeviceJudge
from tests.soak.object_store import Json, ObjectStore


class Server:
    """The part of a server that the judge uses."""

    def __init__(self) -> None:
        self.store = ObjectStore()
        self.bound: list[str] = []
        self.before_bind: Any = lambda pod, node_name: self.bound.append(node_name)


def claim(name: str, device: str = "", *users: str) -> Json:
    meta = {"name": name, "namespace": "default"}
    status: Json = {"reservedFor": [{"uid": user} for user in users]}
    if device:
        result = {"driver": "d", "pool": "node-0", "device": device}
        status["allocation"] = {"devices": {"results": [result]}}
    return {"metadata": meta, "status": status}


def judged() -> tuple[Server, DeviceJudge]:
    server: Any = Server()
    return server, DeviceJudge(server)


def pod(name: str) -> Json:
    meta = {"name": name, "namespace": "default", "uid": name}
    return {"metadata": meta, "spec": {"resourceClaims": [{"resourceClaimName": "a"}]}}


def test_a_device_of_two_claims_is_a_violation() -> None:
    server, judge = judged()
    server.store.create(CLAIMS, claim("a", "x"))
    server.store.create(CLAIMS, claim("b", "y"))
    assert judge.violations == []
    server.store.replace(CLAIMS, {**server.store.get(CLAIMS, "b", "default"), **claim("b", "x")})
    assert judge.violations == ["('d', 'node-0', 'x') is allocated to a and b"]


def test_a_reserved_allocation_that_changes_is_a_violation() -> None:
    server, judge = judged()
    server.store.create(CLAIMS, claim("a", "x", "p"))
    server.store.replace(CLAIMS, claim("a", "y", "p"))
    assert judge.violations == ["the allocation of a changed while it was reserved"]


def test_a_pod_is_bound_where_its_claim_is_and_reserved() -> None:
    server, judge = judged()
    server.store.create(CLAIMS, claim("a", "x", "p"))
    server.before_bind(pod("p"), "node-0")
    assert judge.violations == [] and server.bound == ["node-0"]
    server.before_bind(pod("p"), "node-1")
    server.before_bind(pod("q"), "node-0")
    assert judge.violations == [
        "p was bound to node-1, a is {'node-0'}",
        "q was bound, a is not reserved for it",
    ]
