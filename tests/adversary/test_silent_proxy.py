"""A proxy that keeps watches alive and passes nothing on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mooring.api import Namespace, Node, Pod
from mooring.client.client import IDLE_SECONDS
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.watch_pacer import WatchPacer
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.informers.store import EventHandler
from mooring.registry import default_registry
from mooring.scheduler.following import following, reading_client
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.recording_proxy import recording_proxy

#: Seconds after which a test counts as hanging; the idle timeout of a watch must not be what ends
#: the silence.
PATIENCE = 60.0
ROUNDS = 3
NODE = {"metadata": {"name": "late"}, "status": {"allocatable": {"cpu": "1"}}}


async def test_silent_watches_are_resumed_and_events_come_once(tmp_path: Path) -> None:
    assert PATIENCE < IDLE_SECONDS
    async with (
        running(tmp_path, nodes=0, plan=None) as cluster,
        recording_proxy(tmp_path / "kubeconfig", tmp_path) as proxy,
        reading_client(load_kubeconfig(tmp_path / "proxied"), "test") as client,
    ):
        client.pacer = WatchPacer(silent_seconds=0.2, period_seconds=0.4)
        gates = FeatureGates()
        registry = default_registry(())
        async with following(
            default_config(registry=registry, feature_gates=gates), client, registry, gates
        ) as run:
            seen: list[str] = []
            wanted: list[str] = []
            for kind in (Node, Pod, Namespace):
                run.informers.informer(kind).add_handler(
                    EventHandler(
                        on_add=lambda new: seen.append(new.metadata.name),
                        on_delete=lambda old: seen.append(f"-{old.metadata.name}"),
                    )
                )
            await run.informers.wait_synced()
            del seen[:]
            for number in range(ROUNDS):
                names = [f"{prefix}-{number}" for prefix in ("node", "pod", "namespace")]
                proxy.swallow()
                await cluster.post("/api/v1/nodes", {**NODE, "metadata": {"name": names[0]}})
                await cluster.post(PODS, pod(names[1]))
                await cluster.post("/api/v1/namespaces", {"metadata": {"name": names[2]}})
                wanted += names
                async with asyncio.timeout(PATIENCE):
                    while len(seen) < len(wanted):
                        await asyncio.sleep(0.01)
            assert sorted(seen) == sorted(wanted)
    # Nothing was listed again.
    lists = [path for _, path in proxy.requests if "watch=" not in path and "/pods?" in path]
    assert lists == []
