"""Where the page's data come from."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.scheduler.following import following, reading_client
from mooring.ui.page_source import MOST_NAMES, FollowedCluster
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.waiting import PATIENCE


async def test_a_cluster_that_goes_away_is_a_failure(tmp_path: Path) -> None:
    registry, gates = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates)
    async with running(tmp_path, nodes=1) as cluster:
        await cluster.post(PODS, pod("web"))
        connection = load_kubeconfig(tmp_path / "kubeconfig")
        async with (
            reading_client(connection, "test") as client,
            following(config, client, registry, gates) as found,
        ):
            source = FollowedCluster(found)
            assert (source.failure, source.lost_since) == ("", None)
            before = found.scheduler.clock.now()
            assert source.unread == []
            assert [one.metadata.name for one in source.pods] == ["web"]
            assert source.scheduler is found.scheduler
            assert source.scheduler_names() == ["default-scheduler"]
            await cluster.cluster.stop()
            async with asyncio.timeout(PATIENCE):
                while not source.failure:
                    await asyncio.sleep(0.01)
            async with asyncio.timeout(PATIENCE):
                while any(one.failure is None for one in found.informers):
                    await asyncio.sleep(0.01)
            # The objects are still known.
            assert source.unread == []
            assert [one.metadata.name for one in source.pods] == ["web"]
            assert source.lost_since is not None
            assert before <= source.lost_since <= found.scheduler.clock.now()


async def test_the_schedulers_of_the_pods(tmp_path: Path) -> None:
    registry, gates = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates)
    async with running(tmp_path, nodes=1) as cluster:
        for number in range(MOST_NAMES + 2):
            made = pod(f"p{number}")
            made["spec"]["schedulerName"] = f"s{number}"
            await cluster.post(PODS, made)
        async with (
            reading_client(load_kubeconfig(tmp_path / "kubeconfig"), "test") as client,
            following(config, client, registry, gates) as found,
        ):
            names = FollowedCluster(found).scheduler_names()
            assert names == ["default-scheduler", *(f"s{n}" for n in range(MOST_NAMES))]
