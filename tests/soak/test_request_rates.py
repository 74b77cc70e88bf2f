from __future__ import annotations

import asyncio
from random import Random

import pytest

from mooring.client.transport import Request
from tests.soak.api_server import ApiServer
from tests.soak.faults import FaultPlan, draw_weather
from tests.soak.object_store import ObjectStore
from tests.soak.request_rates import MOST_WRITES, RequestRates
from tests.support.virtual_loop import LoopClock, Process, run_virtually


@pytest.mark.parametrize(
    ("method", "pause", "count", "wrong"),
    [
        pytest.param("PATCH", 0.01, MOST_WRITES + 1, True, id="too often"),
        pytest.param("DELETE", 0.01, 3 * MOST_WRITES, True, id="much too often"),
        pytest.param("PATCH", 0.01, MOST_WRITES, False, id="just not too often"),
        pytest.param("PATCH", 0.5, 3 * MOST_WRITES, False, id="for a long time"),
        pytest.param("POST", 0.01, 3 * MOST_WRITES, False, id="objects that are created"),
        pytest.param("GET", 0.01, 3 * MOST_WRITES, False, id="reads"),
    ],
)
def test_writes_of_one_object_are_counted(
    method: str, pause: float, count: int, wrong: bool
) -> None:
    async def send() -> RequestRates:
        plan = FaultPlan(draw_weather(Random(0), 1.0), Random(0))
        server = ApiServer(ObjectStore(), plan, LoopClock())
        rates = RequestRates(server)
        for _ in range(count):
            server.on_send(Process("a"), Request(method, "/api/v1/namespaces/default/pods/p"))
            server.on_send(Process("a"), Request(method, "/api/v1/namespaces/default/pods/other"))
            await asyncio.sleep(pause)
        return rates

    rates = run_virtually(send(), Random(0))
    assert bool(rates.violations) is wrong
    # Each object is reported once in a window.
    assert len(rates.violations) in (0, 2)
