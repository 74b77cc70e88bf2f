from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.dependency_graph import DependencyGraph


def obj(uid: str, *owners: str, **metadata: Any) -> Pod:
    references = [
        {"apiVersion": "v1", "kind": "Pod", "name": one, "uid": one, "blockOwnerDeletion": True}
        for one in owners
    ]
    return decode_as({"metadata": {"uid": uid, "ownerReferences": references, **metadata}}, Pod)


def uids(graph: DependencyGraph, uid: str) -> list[str]:
    return [one.metadata.uid for one in graph.dependents(uid)]


def test_dependents_are_known_before_their_owner() -> None:
    graph = DependencyGraph()
    graph.put(PODS, obj("c", "a"))
    graph.put(PODS, obj("b", "a", "x"))
    assert uids(graph, "a") == ["b", "c"]
    assert graph.get("a") is None
    assert graph.owners(obj("b", "a", "x").metadata) == [None, None]
    item = graph.put(PODS, obj("a"))
    assert graph.owners(obj("b", "a", "x").metadata) == [item, None]


def test_a_changed_owner() -> None:
    graph = DependencyGraph()
    graph.put(PODS, obj("b", "a"))
    graph.put(PODS, obj("b", "x"))
    assert (uids(graph, "a"), uids(graph, "x")) == ([], ["b"])


def test_an_owner_that_goes_keeps_its_dependents() -> None:
    graph = DependencyGraph()
    graph.put(PODS, obj("a"))
    graph.put(PODS, obj("b", "a"))
    graph.drop("a")
    assert graph.get("a") is None
    assert uids(graph, "a") == ["b"]
    graph.drop("b")
    assert uids(graph, "a") == []
    graph.drop("b")


def test_how_an_object_is_deleted() -> None:
    graph = DependencyGraph()
    when = "2026-01-01T00:00:00Z"
    plain = graph.put(PODS, obj("a", finalizers=["foregroundDeletion", "orphan"]))
    assert not (plain.deleting or plain.waits_for_dependents or plain.orphans_dependents)
    first = graph.put(PODS, obj("b", finalizers=["foregroundDeletion"], deletionTimestamp=when))
    assert first.deleting and first.waits_for_dependents and not first.orphans_dependents
    second = graph.put(PODS, obj("c", finalizers=["orphan"], deletionTimestamp=when))
    assert second.orphans_dependents and not second.waits_for_dependents


def test_which_dependents_block_their_owner() -> None:
    graph = DependencyGraph()
    assert graph.put(PODS, obj("b", "a")).is_blocking("a")
    assert not graph.put(PODS, obj("b", "a")).is_blocking("x")
    free = obj("c", ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "a"}])
    assert not graph.put(PODS, free).is_blocking("a")
