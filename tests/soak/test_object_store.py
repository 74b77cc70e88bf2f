from __future__ import annotations

import pytest

from tests.soak.object_store import PODS, ObjectStore, Refusal


def make(name: str = "a", **more: object) -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "default"}, **more}


def test_every_write_has_a_version_of_its_own() -> None:
    store = ObjectStore()
    first = store.create(PODS, make())
    second = store.replace(PODS, {**first, "spec": {}})
    store.remove(PODS, second)
    versions = [(change.type, change.version) for change in store.since(PODS, 1)]
    assert versions == [("ADDED", 2), ("MODIFIED", 3), ("DELETED", 4)]
    assert store.list(PODS) == []


def test_a_write_that_changes_nothing_is_none() -> None:
    store = ObjectStore()
    made = store.create(PODS, make())
    assert store.replace(PODS, made) is made
    assert store.version == 2


def test_a_pod_of_an_old_name_is_another_pod() -> None:
    store = ObjectStore()
    first = store.create(PODS, make())
    store.remove(PODS, first)
    assert store.create(PODS, make())["metadata"]["uid"] != first["metadata"]["uid"]


def test_what_cannot_be_done_is_refused() -> None:
    store = ObjectStore()
    store.create(PODS, make())
    with pytest.raises(Refusal) as refused:
        store.create(PODS, make())
    assert (refused.value.status, refused.value.reason) == (409, "AlreadyExists")
    with pytest.raises(Refusal) as refused:
        store.get(PODS, "b", "default")
    assert refused.value.status == 404


def test_listeners_hear_of_every_change_until_they_leave() -> None:
    store, heard = ObjectStore(), []
    token = store.listen(heard.append)
    store.create(PODS, make("a"))
    store.unlisten(token)
    store.create(PODS, make("b"))
    assert heard == [PODS]
