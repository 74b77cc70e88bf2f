"""The stores of a cluster in memory, and the cache and nominations that follow them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api import FinishedPod, KubeObject, Pod, PodGroup, decode
from mooring.errors import ObjectError
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_node, make_pod


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster([make_node("n1"), make_node("n2")])


@pytest.fixture
def scheduler() -> MemoryScheduler:
    return MemoryScheduler([make_node("n1"), make_node("n2")])


def pods_on(scheduler: MemoryScheduler, node: str) -> list[str]:
    found = scheduler.cache.nodes.find(node)
    assert found is not None
    return list(found.pods)


def test_a_pod_is_on_its_node_from_the_moment_it_has_one(scheduler: MemoryScheduler) -> None:
    scheduler.cluster.add(make_pod("a", nominated="n2"))
    assert scheduler.nominator.node_of("a") == "n2"
    scheduler.cluster.add(make_pod("a", node="n1"))
    assert pods_on(scheduler, "n1") == ["a"]
    assert scheduler.nominator.node_of("a") == ""
    scheduler.cluster.delete(make_pod("a"))
    assert pods_on(scheduler, "n1") == []


def test_a_finished_pod_is_not_seen(scheduler: MemoryScheduler) -> None:
    running = make_pod("a", node="n1")
    done = replace(running, status=replace(running.status, phase="Succeeded"))
    scheduler.cluster.add(done)
    assert scheduler.cluster.pods.get("a", "default") is None
    scheduler.cluster.add(running)
    scheduler.cluster.add(done)
    assert pods_on(scheduler, "n1") == []


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


def test_a_pod_that_is_made_anew_takes_the_place_of_the_old(scheduler: MemoryScheduler) -> None:
    scheduler.cluster.add(make_pod("a", node="n1"))
    again = make_pod("a", node="n2")
    scheduler.cluster.add(replace(again, metadata=replace(again.metadata, uid="again")))
    assert pods_on(scheduler, "n1") == []
    assert pods_on(scheduler, "n2") == ["again"]


def test_a_deleted_node_is_gone_from_the_snapshot(scheduler: MemoryScheduler) -> None:
    scheduler.cluster.delete(make_node("n1"))
    assert list(scheduler.cache.nodes.names) == ["n2"]
    scheduler.cache.validate()


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
