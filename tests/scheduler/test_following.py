"""A scheduler that follows a cluster and only reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.api import Pod
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.read_only import ReadOnlyError
from mooring.config import default_config
from mooring.errors import MooringError
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.scheduler import following as module
from mooring.scheduler.following import following, reading_client, resource_name, unread_kinds
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pods.v1.", "pods"),
        ("replicasets.v1.apps", "replicasets.apps"),
        ("csinodes.v1.storage.k8s.io", "csinodes.storage.k8s.io"),
    ],
)
def test_resources_are_named_as_kubectl_names_them(name: str, shown: str) -> None:
    assert resource_name(name) == shown


async def test_the_whole_cluster_is_known_and_nothing_can_be_written(tmp_path: Path) -> None:
    registry, gates = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates)
    async with running(tmp_path, nodes=2) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        connection = load_kubeconfig(tmp_path / "kubeconfig")
        async with (
            reading_client(connection, "test") as client,
            following(config, client, registry, gates) as found,
        ):
            assert unread_kinds(found) == []
            assert len(found.scheduler.cache.nodes) == 2
            assert [one.pod.name for one in found.scheduler.cache.pods] == ["web"]
            with pytest.raises(ReadOnlyError):
                await client.delete(Pod, "web", "default")
        assert await cluster.get(f"{PODS}/web")


async def test_a_server_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    registry, gates = default_registry(), FeatureGates()
    config = default_config(registry=registry, feature_gates=gates)
    async with running(tmp_path, nodes=0):
        connection = load_kubeconfig(tmp_path / "kubeconfig")
    async with reading_client(connection, "test") as client:
        with pytest.raises(MooringError, match=r"cannot be read: |no answer after 0 s about "):
            async with following(config, client, registry, gates):
                pass
