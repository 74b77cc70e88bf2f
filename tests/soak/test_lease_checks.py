from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest

from mooring.client.transport import Request
from mooring.config.types import LeaderElection
from tests.soak.api_server import ApiServer
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.lease_checks import LEASES, LeaseJudge
from tests.soak.object_store import ObjectStore
from tests.support.virtual_loop import LoopClock, Process, run_virtually

BINDING = "/api/v1/namespaces/default/pods/a/binding"


class Scene:
    """A lease of 15 s, and the processes that write it."""

    def __init__(self) -> None:
        self._store = ObjectStore()
        plan = FaultPlan(draw_weather(Random(0), 1.0), Random(0))
        self._server = ApiServer(self._store, plan, LoopClock())
        self.judge = LeaseJudge(self._server, LeaderElection())

    def hold(self, who: str) -> None:
        lease = {
            "metadata": {"name": "lease", "namespace": "kube-system"},
            "spec": {
                "holderIdentity": who,
                "leaseDurationSeconds": 15,
                "renewTime": str(asyncio.get_running_loop().time()),
            },
        }
        if self._store.find(LEASES, "lease", "kube-system") is None:
            self._store.create(LEASES, lease)
        else:
            self._store.replace(LEASES, lease)

    def send(self, who: str, method: str, target: str) -> None:
        self._server.on_send(Process(who), Request(method, target))


Step = Callable[[Scene], None]


def hold(who: str) -> Step:
    return lambda scene: scene.hold(who)


def write(who: str, method: str, target: str) -> Step:
    return lambda scene: scene.send(who, method, target)


def bind(who: str) -> Step:
    return write(who, "POST", BINDING)


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        pytest.param([(0, hold("a")), (10, hold("a")), (14, hold("a"))], "", id="a renewal"),
        pytest.param([(0, hold("a")), (15, hold("b"))], "", id="a lease that has ended"),
        pytest.param(
            [(0, hold("a")), (14, hold("b"))],
            "b took the lease 1.000 s before a's end",
            id="a lease that has not",
        ),
        pytest.param(
            [(0, hold("a")), (15, hold("b")), (1, hold("a"))],
            "a took the lease 14.000 s before b's end",
            id="a late write of who held it before",
        ),
        pytest.param([(0, hold("a")), (1, hold("")), (1, hold("b"))], "", id="one given up"),
        pytest.param([(0, hold("a")), (15, bind("a"))], "", id="a bind while the lease lasts"),
        pytest.param(
            [(0, hold("a")), (15.5, bind("a"))],
            f"a sends POST {BINDING} 15.500 s after its last renewal",
            id="a bind after the lease's end",
        ),
        pytest.param(
            [(0, hold("a")), (15, hold("b")), (0, bind("a"))],
            f"a sends POST {BINDING}, and the lease is held by b",
            id="a bind by who held it before",
        ),
        pytest.param(
            [(0, hold("a")), (1, hold("")), (0, bind("a"))],
            f"a sends POST {BINDING}, and the lease is held by nobody",
            id="a bind by who gave it up",
        ),
        pytest.param(
            [(0, hold("a")), (1, bind("b"))],
            f"b sends POST {BINDING}, and never had the lease",
            id="a bind by another",
        ),
        pytest.param(
            [(0, hold("a")), (1, write("b", "PATCH", "/api/v1/namespaces/default/pods/a/status"))],
            "b sends PATCH /api/v1/namespaces/default/pods/a/status, and never had the lease",
            id="any other write by another",
        ),
        pytest.param(
            [
                (0, write("b", "GET", "/api/v1/pods")),
                (0, write("b", "PUT", f"{LEASES}/lease")),
                (0, write("b", "POST", "/api/v1/namespaces/kube-system/events")),
            ],
            "",
            id="reads, and what election itself writes",
        ),
    ],
)
def test_a_lease_is_held_by_one_and_acted_on_by_its_holder(
    steps: list[tuple[float, Step]], wrong: str
) -> None:
    async def play() -> list[str]:
        scene = Scene()
        for seconds, step in steps:
            await asyncio.sleep(seconds)
            step(scene)
        return scene.judge.violations

    assert run_virtually(play(), Random(0)) == ([wrong] if wrong else [])
