from __future__ import annotations

from typing import Any

from mooring.api import CustomResource, Pod
from mooring.api.kinds import decode_as, decode_raw
from mooring.controllers import owners
from mooring.controllers.controlled_kinds import PODS, REPLICA_SETS
from mooring.informers.store import Store
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template, workload


def owner(name: str = "r", **spec: Any) -> CustomResource:
    made = workload("ReplicaSet", name, **spec)
    made["metadata"] |= {"namespace": "default", "uid": f"uid-{name}"}
    return decode_raw(made)


def pod(name: str, *references: dict[str, Any], **labels: str) -> Pod:
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return decode_as({"metadata": metadata | {"ownerReferences": list(references)}}, Pod)


MINE = owners.reference_to(owner())


def test_the_controller_among_owners() -> None:
    other = MINE | {"name": "x", "uid": "x", "controller": False}
    found = owners.controller_of(pod("p", other, MINE))
    assert found is not None and found.name == "r"
    assert owners.controller_of(pod("p", other)) is None
    assert owners.controller_key(pod("p", MINE), "ReplicaSet") == ("default", "r")
    assert owners.controller_key(pod("p", MINE), "Job") is None
    assert owners.controller_key(pod("p"), "ReplicaSet") is None


def test_objects_are_found_by_their_controller() -> None:
    store: Store[Any] = Store()
    owners.index_by_controller(store)
    mine, orphan, other = pod("a", MINE), pod("b", app="web"), pod("c", app="db")
    for one in (mine, orphan, other):
        store.add(one)
    assert owners.owned(store, owner()) == [mine]
    assert owners.count(store, owner()) == 1
    assert owners.count(store, None) == 0
    assert owners.orphans(store, owner()) == [orphan]
    anything = owner(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    assert set(map(id, owners.orphans(store, anything))) == {id(orphan), id(other)}


def test_who_is_asked_when_an_object_changes() -> None:
    sets: Store[Any] = Store()
    for one in (owner("r"), owner("s", selector={"matchLabels": {"app": "db"}})):
        sets.add(one)
    assert list(owners.keys_for(pod("p", MINE), "ReplicaSet", sets)) == [("default", "r")]
    assert list(owners.keys_for(pod("p", MINE), "Job", sets)) == []
    assert list(owners.keys_for(pod("p", app="web"), "ReplicaSet", sets)) == [("default", "r")]
    assert list(owners.keys_for(pod("p"), "ReplicaSet", sets)) == []


def test_a_selector_of_nothing() -> None:
    assert not owners.selector_of({}).matches({"a": "b"})
    assert owners.selector_of({"spec": {"selector": {}}}).matches({"a": "b"})


async def _claimed(cluster: StillCluster) -> list[str]:
    """Claim the pods of the set, and return the names of those that it owns."""
    store = cluster.context.store(Pod)
    sets = cluster.context.store(REPLICA_SETS)
    owners.index_by_controller(store)
    await cluster.sync()
    replica_set = sets.get("r", "default")
    found = await owners.claim(cluster.writer, replica_set, PODS, store)
    return sorted(one.metadata.name for one in found)


async def _pod(cluster: StillCluster, name: str, app: str = "web", **metadata: Any) -> None:
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}}
    made["metadata"]["labels"] = {"app": app}
    await cluster.create(Pod, {**made, "spec": template()["spec"]})


async def test_orphans_are_adopted_and_strangers_released() -> None:
    async with still_cluster() as cluster:
        made = await cluster.create(REPLICA_SETS, workload("ReplicaSet", "r"))
        mine = owners.reference_to(decode_raw(made))
        await _pod(cluster, "orphan")
        await _pod(cluster, "mine", ownerReferences=[mine])
        await _pod(cluster, "stranger", app="db", ownerReferences=[mine])
        await _pod(cluster, "other", app="db")
        assert await _claimed(cluster) == ["mine", "orphan"]
        names = {
            one["metadata"]["name"]: [
                each["name"] for each in one["metadata"].get("ownerReferences", ())
            ]
            for one in await cluster.all(Pod)
        }
        assert names == {"orphan": ["r"], "mine": ["r"], "stranger": [], "other": []}


async def test_a_set_that_is_deleted_adopts_nothing() -> None:
    async with still_cluster() as cluster:
        made = workload("ReplicaSet", "r")
        made["metadata"]["finalizers"] = ["a/b"]
        stored = await cluster.create(REPLICA_SETS, made)
        await cluster.writer.delete(REPLICA_SETS, decode_raw(stored))
        await _pod(cluster, "orphan")
        stranger = owners.reference_to(decode_raw(stored))
        await _pod(cluster, "stranger", app="db", ownerReferences=[stranger])
        assert await _claimed(cluster) == []
        kept = await cluster.get(Pod, "stranger")
        assert kept is not None and kept["metadata"]["ownerReferences"] == [stranger]
