"""Examination of a pod on the state of a scheduler that follows a cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.api import Pod
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config
from mooring.errors import ObjectError
from mooring.explain.examination import Examination
from mooring.explain.live_examination import NOW, examine_now
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.apiserver.api_server import ADMIN, ApiServer
from tests.support.virtual_loop import LoopClock, run_virtually

PODS = "/api/v1/namespaces/default/pods"


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
    return {"metadata": {"name": name}, "status": status}


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


class Spawns(Plugin):
    """A plugin that starts work beside the cycle."""

    done: list[str] = []  # noqa: RUF012

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        self.handle.spawn(self._work(), pod)
        return None

    async def _work(self) -> None:
        self.done.append("worked")


def _path(obj: dict[str, Any]) -> str:
    if "value" in obj:
        return "/apis/scheduling.k8s.io/v1/priorityclasses"
    return PODS if "containers" in obj.get("spec", {}) else "/api/v1/nodes"


def asked(
    objects: list[dict[str, Any]],
    ask: Callable[[RunningScheduler, ApiServer], Awaitable[Any]],
    *plugins: type[Plugin],
) -> Any:
    """Create objects, follow the cluster without writing, and ask."""

    async def live() -> Any:
        server = ApiServer()
        for obj in objects:
            await server.ask("POST", _path(obj), obj)
        registry = default_registry(plugins)
        clock = LoopClock()
        client = Client(LocalTransport(server.api, ADMIN), clock=clock)
        running = RunningScheduler(
            default_config(registry=registry, enabled=[plugin.name for plugin in plugins]),
            client=client,
            event_client=client,
            registry=registry,
            features=FeatureGates(),
            clock=clock,
            metrics=Metrics(),
            read_only=True,
        )
        await running.sync()
        try:
            return await ask(running, server)
        finally:
            await running.close()
            await client.close()

    return run_virtually(live())


async def examined(running: RunningScheduler, name: str) -> Examination:
    found = running.informers.lister(Pod).get(name, "default")
    return await examine_now(running.scheduler, found)


def test_a_pending_pod_is_explained() -> None:
    found = asked([node("n1"), pod("p", cpu="6")], lambda running, _: examined(running, "p"))
    assert found.attempt == NOW
    assert found.decision.outcome is Outcome.UNSCHEDULABLE
    assert [short.missing for short in found.causes[0].diagnosis] == [2000]


def test_a_pod_with_a_node_is_asked_about_as_if_it_were_not_there() -> None:
    async def ask(running: RunningScheduler, _: ApiServer) -> list[Examination]:
        return [await examined(running, name) for name in ("there", "other", "there")]

    there = pod("there", cpu="3", nodeName="n1")
    first, other, again = asked([node("n1"), there, pod("other", cpu="2")], ask)
    assert (first.chosen, again.chosen) == ("n1", "n1")
    # The pod counts again when another one is asked about.
    assert other.chosen == ""


def test_a_gated_pod() -> None:
    gated = pod("p", schedulingGates=[{"name": "a/b"}])
    found = asked([node("n1"), gated], lambda running, _: examined(running, "p"))
    assert found.decision.outcome is Outcome.GATED


def test_a_preemption_is_decided_and_not_carried_out() -> None:
    async def ask(running: RunningScheduler, server: ApiServer) -> tuple[Any, Any]:
        found = await examined(running, "high")
        return found, await server.ask("GET", f"{PODS}/low")

    objects = [
        {"metadata": {"name": "high"}, "value": 10},
        node("n1"),
        pod("low", cpu="3", nodeName="n1"),
        pod("high", cpu="3", priorityClassName="high"),
    ]
    found, low = asked(objects, ask)
    assert [victim.name for victim in found.decision.post_filter.victims] == ["low"]
    assert "deletionTimestamp" not in low["metadata"]


def test_work_that_plugins_spawn_is_discarded() -> None:
    Spawns.done.clear()
    found = asked([node("n1"), pod("p")], lambda running, _: examined(running, "p"), Spawns)
    assert found.chosen == "n1"
    assert Spawns.done == []


def test_a_pod_that_no_profile_serves() -> None:
    with pytest.raises(ObjectError, match='no profile serves schedulerName "other" of pod'):
        asked([node("n1"), pod("p", schedulerName="other")], lambda r, _: examined(r, "p"))
