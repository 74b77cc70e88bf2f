"""A scheduler that follows a cluster sends nothing but GET, whatever plugins do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from mooring.api import Node, ObjectMeta, Pod, PriorityClass
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.read_only import ReadOnlyError
from mooring.config import default_config
from mooring.explain.live_examination import examine_now
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.registry import default_registry
from mooring.scheduler.following import following, reading_client
from mooring.shadow.shadow import Shadow
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.recording_proxy import recording_proxy
from tests.support.waiting import PATIENCE


class Vandal(Plugin):
    """A plugin that writes whenever it is called, in every way that it is offered."""

    #: Refused writes, by the way they were started and what was called.
    refused: ClassVar[Counter[tuple[str, str]]] = Counter()
    #: Writes that did not fail.
    written: ClassVar[list[str]] = []
    tasks: ClassVar[list[asyncio.Task[None]]] = []

    def start(self) -> None:
        self.handle.every(0.05, lambda: self._write("every"))

    def pre_enqueue(self, pod: Pod) -> None:
        self._vandalize(pod)

    def pre_filter(self, state: Any, pod: Pod, nodes: Any) -> None:
        self._vandalize(pod)

    def filter(self, state: Any, pod: Pod, node: Any) -> Status | None:
        self._vandalize(pod)
        return None

    def score(self, state: Any, pod: Pod, node: Any) -> int:
        self._vandalize(pod)
        return 1

    async def post_filter(self, state: Any, pod: Pod, statuses: Any) -> Status:
        await self._write("post_filter")
        return Status.unschedulable("no")

    def _vandalize(self, pod: Pod) -> None:
        self.handle.spawn(self._write("spawn"), pod)
        if len(self.tasks) < 10:
            self.tasks.append(asyncio.get_running_loop().create_task(self._write("task")))
        self.handle.events.event(pod, "Normal", "Vandalized", "Vandalize", "by a plugin")
        self.handle.nominator.add(pod, "node-0")
        self.handle.activate([pod])

    async def _write(self, how: str) -> None:
        client = self.handle.client
        found = self.handle.lister(Pod).list()
        if not found:
            return
        pod = next(iter(found))
        meta = pod.metadata
        created = PriorityClass(metadata=ObjectMeta(name="mine"), value=1)
        patch = {"metadata": {"labels": {"vandalized": "yes"}}}
        writes: dict[str, Coroutine[Any, Any, Any]] = {
            "create": client.create(created),
            "update": client.update(replace(pod, metadata=replace(meta, labels={"a": "b"}))),
            "patch": client.patch(Pod, meta.name, meta.namespace, patch),
            "patch status": client.patch(
                Pod, meta.name, meta.namespace, {"status": {}}, subresource="status"
            ),
            "add_finalizer": client.add_finalizer(pod, "example.com/mine"),
            "delete": client.delete(Node, "node-0"),
            "bind": client.bind(pod, "node-0"),
        }
        for name, work in writes.items():
            try:
                await work
            except ReadOnlyError:
                self.refused[how, name] += 1
            else:
                self.written.append(name)


async def test_only_get_passes_whatever_plugins_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    registry, gates = default_registry([Vandal]), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates, enabled=[Vandal.name])
    shadow = Shadow()
    huge = pod("huge")
    huge["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4000"}}
    async with (
        running(tmp_path, nodes=2) as cluster,
        recording_proxy(tmp_path / "kubeconfig", tmp_path) as proxy,
        reading_client(load_kubeconfig(tmp_path / "proxied"), "test") as client,
        following(config, client, registry, gates, taps=(shadow,)) as found,
    ):
        shadow.begin(found.scheduler)
        await cluster.post(PODS, pod("web"))
        await cluster.post(PODS, huge)
        await cluster.until(f"{PODS}/web", lambda one: one["spec"].get("nodeName"))
        async with asyncio.timeout(PATIENCE):
            while not shadow.report.counts or not (
                waiting := found.informers.lister(Pod).get("huge", "default")
            ):
                await asyncio.sleep(0.01)
            answer = await examine_now(found.scheduler, waiting)
            assert answer.decision.outcome is Outcome.UNSCHEDULABLE
            for how in ("every", "post_filter", "task"):
                while not Vandal.refused[how, "bind"]:
                    await asyncio.sleep(0.01)
        assert (await cluster.get(f"{PODS}/web"))["metadata"]["labels"] == {"app": "web"}
    assert Vandal.written == []
    assert {name for _, name in Vandal.refused} == {
        "create",
        "update",
        "patch",
        "patch status",
        "add_finalizer",
        "delete",
        "bind",
    }
    # What is spawned is discarded before it runs.
    assert "spawn" not in {how for how, _ in Vandal.refused}
    # Nor does anything try to write Events, which would delay the end.
    assert "Unable to write event" not in caplog.text
    assert {method for method, _ in proxy.requests} == {"GET"}
    assert any(path.startswith("/api/v1/pods?") for _, path in proxy.requests)
