"""The store: order, resource versions, recent events, lists at an old version."""

from __future__ import annotations

import pytest

from mooring.apiserver import resource_store as store_module
from mooring.apiserver.resource_store import (
    ADDED,
    DELETED,
    MODIFIED,
    Gone,
    ResourceStore,
    StoreEvent,
)


def thing(name: str, value: int = 0) -> dict[str, object]:
    return {"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name}, "value": value}


def names(store: ResourceStore, namespace: str = "", after: str = "") -> list[str]:
    return [one.key for one in store.items("things", namespace, after)]


def test_objects_come_in_the_order_of_their_keys() -> None:
    store = ResourceStore()
    for key in ("b/x", "a/y", "a-b/z", "a/x"):
        store.put("things", key, thing(key))
    # As in etcd, the hyphen sorts before the slash.
    assert names(store) == ["a-b/z", "a/x", "a/y", "b/x"]
    assert names(store, "a") == ["a/x", "a/y"]
    assert names(store, after="a/x") == ["a/y", "b/x"]


def test_every_write_gets_the_next_version() -> None:
    store = ResourceStore()
    first = store.put("things", "a", thing("a"))
    second = store.put("others", "a", thing("a"))
    gone = store.delete("things", "a")
    assert [first.version, second.version, gone.version] == [2, 3, 4]
    assert gone.object["metadata"]["resourceVersion"] == "4"
    assert first.object["metadata"]["resourceVersion"] == "2"


def test_listeners_hear_what_happens_to_their_resource() -> None:
    store, heard = ResourceStore(), list[StoreEvent]()
    stop = store.listen("things", heard.append)
    store.put("things", "a", thing("a"))
    store.put("things", "a", thing("a", 1))
    store.put("others", "a", thing("a"))
    store.delete("things", "a")
    stop()
    store.put("things", "a", thing("a"))
    assert [event.type for event in heard] == [ADDED, MODIFIED, DELETED]
    assert heard[1].old is heard[0].stored


def test_events_since_a_version_are_of_one_resource() -> None:
    store = ResourceStore()
    at = store.put("things", "a", thing("a")).version
    store.put("others", "b", thing("b"))
    store.put("things", "c", thing("c"))
    assert [event.stored.key for event in store.since("things", at)] == ["c"]


def test_a_version_before_the_ring_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "RING", 3)
    store = ResourceStore()
    versions = [store.put("things", "a", thing("a", i)).version for i in range(6)]
    assert len(store.since("things", versions[-4])) == 3
    with pytest.raises(Gone, match="too old resource version"):
        store.since("things", versions[0])


def test_a_list_can_be_seen_as_it_was() -> None:
    store = ResourceStore()
    store.put("things", "a", thing("a"))
    at = store.put("things", "b", thing("b")).version
    store.put("things", "c", thing("c"))
    store.delete("things", "a")
    store.put("things", "b", thing("b", 7))
    then = [(one.key, one.object["value"]) for one in store.list_at("things", "", "", at)]
    assert then == [("a", 0), ("b", 0)]
    assert [one.key for one in store.list_at("things", "", "a", at)] == ["b"]


def test_kind_and_version_lead_the_bytes() -> None:
    store = ResourceStore()
    stored = store.put("things", "a", {"metadata": {}, "apiVersion": "v1", "kind": "Thing"})
    assert stored.data.startswith(b'{"kind":"Thing","apiVersion":"v1",')


def test_only_the_objects_used_last_are_kept_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "RECENT", 2)
    store = ResourceStore()
    first = store.put("things", "a", thing("a", 7))
    held = first.object
    assert first.object is held
    store.put("things", "b", thing("b"))
    store.put("things", "c", thing("c"))
    assert first.object is not held
    assert first.object == held
    store.put("things", "d", thing("d"))
    store.put("things", "e", thing("e"))
    assert first.object == held


def test_a_resource_that_changes_much_does_not_cost_others_their_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_module, "RING", 3)
    store = ResourceStore()
    at = store.put("things", "a", thing("a")).version
    store.put("things", "b", thing("b"))
    for i in range(9):
        store.put("leases", "x", thing("x", i))
    assert [event.stored.key for event in store.since("things", at)] == ["b"]


def test_large_objects_shorten_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "RING_BYTES", 10_000)
    store = ResourceStore()
    large = "x" * 3000
    versions = [
        store.put("things", "a", thing("a") | {"text": large, "value": i}).version
        for i in range(50)
    ]
    assert len(store.since("things", versions[-4])) == 3
    with pytest.raises(Gone, match="too old resource version"):
        store.since("things", versions[-5])
    # What was dropped no longer counts: many small events fit in beside the last large ones.
    for i in range(20):
        store.put("things", "b", thing("b", i))
    assert len(store.since("things", versions[-2])) == 21
