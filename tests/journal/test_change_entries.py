"""Entries of object changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import FinishedPod, Node, Pod
from mooring.api.pod import PodStatus
from mooring.journal.change_entries import change_entry
from mooring.journal.entries import FINISHED_PODS, Change, PodUpdate
from mooring.testing.builders import make_node, make_pod

POD = make_pod("web", labels={"app": "web"})
BOUND = replace(
    POD,
    metadata=replace(POD.metadata, resource_version="2", labels={"app": "web", "zone": "a"}),
    spec=replace(POD.spec, node_name="node-1"),
    status=PodStatus(phase="Pending"),
)


def test_a_bind_is_an_update_with_the_node_and_the_new_labels() -> None:
    assert change_entry(3.0, Pod, POD, BOUND) == PodUpdate(
        3.0,
        "default",
        "web",
        "2",
        "node-1",
        msgspec.Raw(b'{"phase":"Pending"}'),
        {"app": "web", "zone": "a"},
    )


def test_labels_that_are_as_before_are_not_repeated() -> None:
    running = replace(BOUND, status=PodStatus(phase="Running"))
    entry = change_entry(3.0, Pod, BOUND, running)
    assert isinstance(entry, PodUpdate)
    assert (entry.labels, bytes(entry.status)) == (None, b'{"phase":"Running"}')


@pytest.mark.parametrize(
    ("old", "new", "known", "deleted"),
    [
        pytest.param(None, POD, False, False, id="a new pod"),
        pytest.param(POD, None, True, True, id="a deleted pod"),
        pytest.param(
            POD,
            replace(POD, metadata=replace(POD.metadata, annotations={"a": "b"})),
            True,
            False,
            id="other metadata",
        ),
        pytest.param(
            POD, replace(POD, spec=replace(POD.spec, priority=7)), True, False, id="another spec"
        ),
        pytest.param(
            POD,
            replace(POD, metadata=replace(POD.metadata, uid="other")),
            True,
            False,
            id="another pod of the name",
        ),
    ],
)
def test_other_changes_hold_the_whole_pod(old: Any, new: Any, known: bool, deleted: bool) -> None:
    entry = change_entry(3.0, Pod, old, new)
    assert isinstance(entry, Change)
    assert (entry.kind, entry.namespace, entry.name) == ("pods.v1.", "default", "web")
    assert (entry.known, entry.deleted) == (known, deleted)
    assert msgspec.json.decode(entry.object, type=Pod) == (old if deleted else new)


def test_other_kinds_are_written_whole() -> None:
    node = make_node("node-1")
    changed = replace(node, metadata=replace(node.metadata, resource_version="2"))
    entry = change_entry(3.0, Node, node, changed)
    assert isinstance(entry, Change) and entry.kind == "nodes.v1."
    finished = change_entry(3.0, FinishedPod, POD, BOUND)
    assert isinstance(finished, Change) and finished.kind == FINISHED_PODS
