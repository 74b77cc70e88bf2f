"""The cluster in memory keeps cache and nominations in step with the objects."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api import FinishedPod, KubeObject, Pod, PodGroup, decode
from mooring.errors import ObjectError
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.virtual.memory_cluster import MemoryCluster
from tests.cycle.scheduling import make_node, make_pod


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster(PodInfos(FeatureGates()), [make_node("n1"), make_node("n2")])


def pods_on(cluster: MemoryCluster, node: str) -> list[str]:
    found = cluster.cache.nodes.find(node)
    assert found is not None
    return list(found.pods)


def test_a_pod_is_on_its_node_from_the_moment_it_has_one(cluster: MemoryCluster) -> None:
    cluster.add(make_pod("a", nominated="n2"))
    assert cluster.nominator.node_of("a") == "n2"
    cluster.add(make_pod("a", node="n1"))
    assert pods_on(cluster, "n1") == ["a"]
    assert cluster.nominator.node_of("a") == ""
    cluster.delete(make_pod("a"))
    assert pods_on(cluster, "n1") == []


def test_a_finished_pod_is_not_seen(cluster: MemoryCluster) -> None:
    running = make_pod("a", node="n1")
    done = replace(running, status=replace(running.status, phase="Succeeded"))
    cluster.add(done)
    assert cluster.pods.get("a", "default") is None
    cluster.add(running)
    cluster.add(done)
    assert pods_on(cluster, "n1") == []


def test_a_finished_pod_is_a_kind_of_its_own(cluster: MemoryCluster) -> None:
    finished = cluster.lister(FinishedPod)
    running = make_pod("a", node="n1")
    done = replace(running, status=replace(running.status, phase="Failed"))
    cluster.add(done)
    assert list(finished.list()) == [done]
    cluster.add(running)
    assert list(finished.list()) == []
    cluster.add(done)
    cluster.delete(done)
    assert list(finished.list()) == []


def test_a_pod_that_is_made_anew_takes_the_place_of_the_old(cluster: MemoryCluster) -> None:
    cluster.add(make_pod("a", node="n1"))
    again = make_pod("a", node="n2")
    cluster.add(replace(again, metadata=replace(again.metadata, uid="again")))
    assert pods_on(cluster, "n1") == []
    assert pods_on(cluster, "n2") == ["again"]


def test_a_deleted_node_is_gone_from_the_snapshot(cluster: MemoryCluster) -> None:
    cluster.delete(make_node("n1"))
    assert list(cluster.cache.nodes.names) == ["n2"]
    cluster.cache.validate()


def test_custom_resources_are_found_by_plural_version_and_group(cluster: MemoryCluster) -> None:
    raw = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
    }
    cluster.add(decode(raw))
    assert cluster.lister("widgets.v1.example.com").get("w", "default") is not None


def test_a_struct_outside_the_table_is_an_error(cluster: MemoryCluster) -> None:
    with pytest.raises(ObjectError, match="KubeObject is not in the table of kinds"):
        cluster.store(KubeObject)


def test_the_lister_of_a_kind_is_its_store(cluster: MemoryCluster) -> None:
    cluster.add(make_pod("a"))
    assert cluster.lister(Pod).get("a", "default") == make_pod("a")


def test_a_kind_of_the_table_has_one_store_by_its_struct_and_by_its_name(
    cluster: MemoryCluster,
) -> None:
    store = cluster.store(PodGroup)
    assert cluster.store("podgroups.v1alpha1.scheduling.x-k8s.io") is store
    assert cluster.store("boats.v1.example.com") is not store
