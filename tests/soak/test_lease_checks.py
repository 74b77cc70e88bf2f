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
from tests.soak.virtual_loop import LoopClock, Process, run_virtually


class Scene:
    """A lease of 15 s, and who writes into it."""

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

    def bind(self, who: str) -> None:
        target = "/api/v1/namespaces/default/pods/a/binding"
        self._server.on_send(Process(who), Request("POST", target))


Step = Callable[[Scene], None]


def hold(who: str) -> Step:
    return lambda scene: scene.hold(who)


def bind(who: str) -> Step:
    return lambda scene: scene.bind(who)


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
        pytest.param([(0, hold("a")), (17, bind("a"))], "", id="a bind before a loss must show"),
        pytest.param(
            [(0, hold("a")), (18, bind("a"))],
            "a binds a pod 18.000 s after its last renewal",
            id="a bind long after the last renewal",
        ),
        pytest.param(
            [(0, hold("a")), (1, bind("b"))],
            "b binds a pod, and never had the lease",
            id="a bind by another",
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
