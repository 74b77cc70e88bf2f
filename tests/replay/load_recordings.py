"""Recorded journals of schedulers whose plugins score by load fetched from several sources."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mooring.api import CustomResource
from mooring.client.client import Client
from mooring.client.responses import decode_list
from mooring.contrib.load.metrics_server import NODE_METRICS
from mooring.contrib.load.prometheus import QUERY_PATH
from mooring.errors import ApiError, NoAnswerError
from mooring.framework.handle import HttpAnswer
from mooring.virtual.memory_client import MemoryList
from tests.replay.recordings import JournaledCluster, journaled, node, pod, write_config
from tests.support.virtual_loop import LoopClock

NODES = tuple(f"node-{number}" for number in range(6))
WATCHER = "http://watcher.example:2020"

_MODELS = ", ".join(
    f"{name}: {{k0: 100, k1: {-90 + 3 * number}, k2: -0.0{number + 2}}}"
    for number, name in enumerate(NODES)
)

#: The arguments of each plugin; all sources are in use, and two plugins ask the same one.
ARGUMENTS = {
    "TargetLoadPacking": f"{{watcherAddress: '{WATCHER}'}}",
    "LoadVariationRiskBalancing": (
        "{metricProvider: {type: Prometheus, address: 'http://prometheus.example:9090'}}"
    ),
    "LowRiskOverCommitment": "{metricProvider: {type: KubernetesMetricsServer}}",
    "Peaks": f"{{WatcherAddress: '{WATCHER}', NodePowerModel: {{{_MODELS}}}}}",
}


def load_config_of(folder: Path, *names: str, weight: int = 20) -> Path:
    """Write a configuration with some of the plugins, with high weights."""
    enabled = ", ".join(f"{{name: {name}, weight: {weight}}}" for name in names)
    lines = [f"  plugins: {{multiPoint: {{enabled: [{enabled}]}}}}", "  pluginConfig:"]
    for name in names:
        lines += [f"  - name: {name}", f"    args: {ARGUMENTS[name]}"]
    return write_config(folder, "\n".join(lines) + "\n")


class Sources:
    """A load watcher, a Prometheus and a metrics server; some requests fail, some take long."""

    def __init__(self) -> None:
        self._random = Random("load")

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Answer as the load watcher or the Prometheus."""
        await self._delay()
        if url.startswith(WATCHER):
            return HttpAnswer(200, json.dumps(self._watched()).encode())
        assert QUERY_PATH in url
        result = [
            {"metric": {"instance": name}, "value": [0, str(self._random.random())]}
            for name in NODES
        ]
        found = {"status": "success", "data": {"resultType": "vector", "result": result}}
        return HttpAnswer(200, json.dumps(found).encode())

    async def list_metrics(self) -> MemoryList:
        """Answer as the metrics server."""
        await self._delay()
        listed = {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1"}
        body = json.dumps({**listed, "items": [self._used(name) for name in NODES]})
        return MemoryList(decode_list(body.encode(), CustomResource).items)

    def _used(self, name: str) -> dict[str, Any]:
        cpu, memory = self._random.randrange(64_000), self._random.randrange(8192)
        return {"metadata": {"name": name}, "usage": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}}

    async def close(self) -> None:
        """Do nothing."""

    async def _delay(self) -> None:
        await asyncio.sleep(self._random.choice((0.01, 0.5, 4.0)))
        drawn = self._random.random()
        if drawn < 0.1:
            raise NoAnswerError("the connection was lost", sent=True)
        if drawn < 0.2:
            raise ApiError(503, "busy")

    def _watched(self) -> Any:
        now = int(LoopClock().now())
        metrics = {
            name: {
                "metrics": [
                    {"type": kind, "operator": operator, "value": 100 * self._random.random()}
                    for kind in ("CPU", "Memory")
                    for operator in ("AVG", "STD")
                ]
            }
            for name in NODES
        }
        window = {"duration": "15m", "start": now - 900, "end": now}
        return {"timestamp": now, "window": window, "data": {"NodeMetricsMap": metrics}}


def _measured_node(name: str) -> dict[str, Any]:
    made = node(name, "64")
    made["status"]["capacity"] = dict(made["status"]["allocatable"])
    return made


def record_load(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *names: str,
    pods: int = 30,
    segment_bytes: int = 2**20,
) -> Path:
    """Record pods that arrive every few seconds, in folder/journal; return that folder."""
    sources, listed = Sources(), Client.list

    async def list_some(self: Client, kind: Any, *args: Any, **options: Any) -> Any:
        if kind == NODE_METRICS:
            return await sources.list_metrics()
        return await listed(self, kind, *args, **options)

    monkeypatch.setattr(Client, "list", list_some)
    monkeypatch.setattr("mooring.scheduler.running_scheduler.WebClient", lambda clock: sources)

    async def play(cluster: JournaledCluster) -> None:
        await cluster.create(*map(_measured_node, NODES))
        running = asyncio.create_task(cluster.running.scheduler.run())
        random = Random("pods")
        for number in range(pods):
            await cluster.create(pod(f"web-{number}", str(random.randrange(1, 4))))
            await cluster.clock.sleep(random.choice((0.5, 7.0, 31.0)))
            cluster.journal.pump()
        running.cancel()

    target = folder / "journal"
    target.mkdir()
    journaled(target, play, segment_bytes=segment_bytes, config=load_config_of(folder, *names))
    return target
