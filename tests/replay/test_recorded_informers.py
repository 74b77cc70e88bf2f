"""Stores that only a journal changes."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import CustomResource, FinishedPod, Pod, encode_json
from mooring.journal.entries import FINISHED_PODS, Change, PodUpdate
from mooring.replay.recorded_informers import (
    RecordedInformers,
    decode_object,
    recorded_object,
    updated_pod,
)
from mooring.testing.builders import make_pod

UPDATE = PodUpdate(
    2.0, "default", "web", "7", "node-1", msgspec.Raw(b'{"phase":"Running"}'), {"zone": "a"}
)


def change(name: str = "web", *, known: bool = False, deleted: bool = False) -> Change:
    raw = msgspec.Raw(encode_json(make_pod(name)))
    return Change(1.0, "pods.v1.", "default", name, raw, known, deleted)


def applied(informers: RecordedInformers, entry: Change) -> bool:
    return informers.apply(entry, recorded_object(entry))


def test_changes_reach_the_store_and_its_handlers() -> None:
    informers = RecordedInformers()
    seen: list[str] = []
    informers.store(Pod).subscribe(
        lambda old, new: seen.append(f"{old is not None} {new is not None}")
    )
    assert applied(informers, change())
    assert applied(informers, change(known=True))
    assert applied(informers, change(known=True, deleted=True))
    assert seen == ["False True", "True True", "True False"]
    assert not len(informers.store(Pod))


@pytest.mark.parametrize(
    "entry", [change(known=True), change(known=True, deleted=True)], ids=["update", "deletion"]
)
def test_a_change_of_an_unknown_object_contradicts(entry: Change) -> None:
    assert not applied(RecordedInformers(), entry)


def test_an_object_that_is_added_twice_contradicts() -> None:
    informers = RecordedInformers()
    assert applied(informers, change())
    assert not applied(informers, change())


def test_an_update_holds_what_is_new_of_a_pod() -> None:
    informers = RecordedInformers()
    assert informers.object_after(UPDATE) is None
    assert applied(informers, change())
    before = informers.store(Pod).get("web", "default")
    pod = informers.object_after(UPDATE)
    assert informers.apply(UPDATE, pod)
    assert informers.store(Pod).get("web", "default") is pod
    assert (pod.metadata.resource_version, pod.metadata.labels) == ("7", {"zone": "a"})
    assert (pod.spec.node_name, pod.status.phase) == ("node-1", "Running")
    assert pod.spec.containers is before.spec.containers
    later = replace(UPDATE, resource_version="8", labels=None)
    again = updated_pod(pod, later)
    assert (again.metadata.resource_version, again.metadata.labels) == ("8", {"zone": "a"})
    assert again.spec is pod.spec


def test_a_kind_has_one_store_however_it_is_named() -> None:
    informers = RecordedInformers()
    assert informers.named("pods.v1.") is informers.store(Pod) is informers.informer(Pod).store
    assert informers.named(FINISHED_PODS) is informers.store(FinishedPod)
    assert informers.named(FINISHED_PODS) is not informers.store(Pod)


def test_custom_resources() -> None:
    raw = b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"x":1}}'
    found = decode_object("things.v1.example.com", msgspec.Raw(raw))
    assert isinstance(found, CustomResource)
    assert found.raw["spec"] == {"x": 1}


def test_nulls_count_as_absent() -> None:
    raw = msgspec.Raw(b'{"metadata":{"name":"web","labels":null},"spec":{"nodeName":null}}')
    found = decode_object("pods.v1.", raw)
    assert (found.metadata.labels, found.spec.node_name) == ({}, "")
