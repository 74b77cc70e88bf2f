from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import PersistentVolumeClaim
from mooring.api import volume_claims as claims
from mooring.informers.store import Store
from mooring.plugins.volumes.assumed import AssumedObjects
from tests.plugins.volumes.storage import claim


def _version(version: str, name: str = "c", **more: Any) -> PersistentVolumeClaim:
    return claim(name, metadata={"resourceVersion": version}, **more)


def _layer(*objects: PersistentVolumeClaim) -> tuple[Any, Store[PersistentVolumeClaim]]:
    store = Store(objects)
    return AssumedObjects(store, "persistentvolumeclaims"), store


def test_an_assumed_object_covers_the_listers() -> None:
    stored = _version("1")
    layer, _ = _layer(stored)
    changed = claims.select_node(stored, "n")
    assert layer.assume(changed) == ""
    assert layer.get("c", "default") is changed
    assert layer.lister.get("c", "default") is stored


def test_a_newer_object_of_the_lister_wins() -> None:
    layer, store = _layer(_version("1"))
    layer.assume(claims.select_node(_version("1"), "n"))
    newer = _version("2")
    store.update(newer)
    assert layer.get("c", "default") is newer


def test_without_versions_any_other_object_of_the_lister_wins() -> None:
    stored = claim("c")
    layer, store = _layer(stored)
    layer.assume(claims.select_node(stored, "n"))
    assert layer.get("c", "default") is not stored
    other = claim("c")
    store.update(other)
    assert layer.get("c", "default") is other


def test_an_object_seen_again_leaves_the_assumption_alone() -> None:
    layer, store = _layer(_version("1"))
    changed = claims.select_node(_version("1"), "n")
    layer.assume(changed)
    store.update(_version("1"))
    assert layer.get("c", "default") is changed


def test_an_assumption_is_made_of_the_latest_version() -> None:
    layer, _ = _layer(_version("2"))
    problem = layer.assume(_version("1"))
    assert problem == '"default/c" is out of sync (stored: 2, assume: 1)'
    assert layer.assume(claim("no")) == 'persistentvolumeclaims "default/no" not found'


def test_restoring_goes_back_to_the_listers_object() -> None:
    stored = _version("1")
    layer, _ = _layer(stored)
    changed = claims.select_node(stored, "n")
    layer.assume(changed)
    written = replace(changed, metadata=replace(changed.metadata, resource_version="2"))
    layer.restore(written)
    assert layer.get("c", "default") is changed, "what has been written is not restored"
    layer.restore(changed)
    layer.restore(changed)
    assert layer.get("c", "default") is stored


def test_what_the_server_has_overtaken_is_dropped() -> None:
    layer, store = _layer(*(_version("1", f"c{n}") for n in range(300)))
    for stored in list(store):
        layer.assume(claims.select_node(stored, "n"))
        store.update(_version("2", stored.metadata.name))
    assert layer.count <= 256
