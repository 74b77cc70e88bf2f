"""A scheduler with its informers, extenders and Events, brought up and ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring import Plugin
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config
from mooring.errors import PluginError
from mooring.framework.features import FeatureGates
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.apiserver.api_server import ADMIN, ApiServer, pod
from tests.support.virtual_loop import LoopClock, run_virtually

NODE = {
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
}
PODS = "/api/v1/namespaces/default/pods"


class Closing(Plugin):
    """A plugin that records when it is started and closed."""

    said: list[str] = []  # noqa: RUF012

    def start(self) -> None:
        self.said.append("started")

    async def close(self) -> None:
        self.said.append("closed")

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        self.said.append(f"asked about {node.name}")


class Refusing(Plugin):
    """A plugin that cannot be made."""

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        raise ValueError("no such file")

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


def make(server: ApiServer, plugin: type[Plugin]) -> RunningScheduler:
    registry = default_registry()
    registry.register(plugin)
    clock = LoopClock()
    client = Client(LocalTransport(server.api, ADMIN), clock=clock)
    return RunningScheduler(
        default_config(registry=registry, enabled=[plugin.name]),
        client=client,
        event_client=client,
        registry=registry,
        features=FeatureGates(),
        clock=clock,
        metrics=Metrics(),
        host="here",
    )


def test_a_pod_is_bound_an_event_written_and_everything_ended() -> None:
    Closing.said.clear()

    async def live() -> tuple[Any, Any]:
        server = ApiServer()
        await server.ask("POST", "/api/v1/nodes", NODE)
        await server.ask("POST", PODS, pod("p"))
        running = make(server, Closing)
        assert Closing.said == ["started"]
        running.start()
        await running.sync()
        assert len(running.scheduler.cache.nodes) == 1, "it knows what the informers know"
        work = asyncio.create_task(running.scheduler.run())
        await asyncio.sleep(5)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await running.close()
        events = await server.ask("GET", "/apis/events.k8s.io/v1/events")
        return await server.ask("GET", f"{PODS}/p"), events["items"]

    bound, events = run_virtually(live())
    assert bound["spec"]["nodeName"] == "n"
    (event,) = events
    assert (event["reason"], event["reportingInstance"]) == ("Scheduled", "default-scheduler-here")
    assert Closing.said == ["started", "asked about n", "closed"]


def test_a_plugin_that_cannot_be_made_is_an_error_at_the_start() -> None:
    async def live() -> None:
        make(ApiServer(), Refusing)

    with pytest.raises(PluginError, match="initializing: ValueError: no such file"):
        run_virtually(live())
