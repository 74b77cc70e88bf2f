"""EventRecorder: an Event's fields, as client-go fills them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.api import Event, Node, ObjectReference, Pod, decode, decode_as, encode
from mooring.api.names import subdomain_problems
from mooring.binding.event_recorder import (
    NOTE_LIMIT,
    EventRecorder,
    cut_note,
    event_name,
)
from mooring.observe.clock import VirtualClock

NOW = 1_700_000_000.25
POD = decode_as(
    {"metadata": {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}}, Pod
)
NODE = decode_as({"metadata": {"name": "n1", "uid": "u2"}}, Node)


def record(
    regarding: Any, *calls: tuple[Any, ...], type: str = "Normal", **more: Any
) -> list[Event]:
    sent: list[Event] = []
    recorder = EventRecorder("my-scheduler", "my-scheduler-host", VirtualClock(NOW), sent.append)
    for call in calls or (("Scheduled", "Binding", "Successfully assigned shop/web to n1"),):
        recorder.event(regarding, type, *call, **more)
    return sent


def test_an_event_has_all_its_fields() -> None:
    (event,) = record(POD)
    nanos = int(NOW * 1e9)
    assert encode(event) == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web.{nanos:x}", "namespace": "shop"},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "reportingController": "my-scheduler",
        "reportingInstance": "my-scheduler-host",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "u1",
            "resourceVersion": "7",
        },
        "note": "Successfully assigned shop/web to n1",
        "type": "Normal",
    }


def test_an_object_without_a_namespace_is_reported_in_the_default_one() -> None:
    (event,) = record(NODE)
    assert event.metadata.namespace == "default"
    assert event.regarding.namespace == ""


CUSTOM = decode(
    {"apiVersion": "a.example/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "shop"}}
)


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        (CUSTOM, ("a.example/v1", "Thing", "t")),
        (ObjectReference(kind="Elsewhere", name="e"), ("", "Elsewhere", "e")),
    ],
    ids=["a custom resource", "a reference"],
)
def test_events_are_about_any_object(obj: Any, kind: tuple[str, str, str]) -> None:
    (event,) = record(obj)
    assert (event.regarding.api_version, event.regarding.kind, event.regarding.name) == kind


def test_an_event_may_relate_an_object() -> None:
    (event,) = record(POD, related=NODE)
    assert event.related == ObjectReference(api_version="v1", kind="Node", name="n1", uid="u2")
    (event,) = record(POD, related="no object")
    assert event.related is None


@pytest.mark.parametrize(
    ("regarding", "type", "text"),
    [
        ("a pod", "Normal", "Could not construct reference, will not report event"),
        (POD, "Severe", "Unsupported event type"),
    ],
    ids=["no object", "no such type"],
)
def test_what_is_no_event_is_logged_only(
    regarding: Any, type: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    assert record(regarding, type=type) == []
    assert [entry.message for entry in caplog.records] == [text]


def test_events_of_one_moment_have_names_of_their_own() -> None:
    events = record(POD, *[("FailedScheduling", "Scheduling", f"note {n}") for n in range(3)])
    assert len({event.metadata.name for event in events}) == 3
    assert len({event.event_time for event in events}) == 1


def test_a_name_that_would_be_none_is_replaced() -> None:
    for name in ("system:node", "x" * 250):
        made = event_name(name, 1)
        assert not subdomain_problems(made)
        assert made != event_name(name, 2)


@pytest.mark.parametrize(
    ("note", "cut"),
    [
        ("short", "short"),
        ("x" * NOTE_LIMIT, "x" * NOTE_LIMIT),
        ("x" * (NOTE_LIMIT + 1), "x" * 1020 + " ..."),
        ("é" * 512, "é" * 512),
        ("é" * 513, "é" * 510 + " ..."),
        ("x" + "é" * 512, "x" + "é" * 509 + " ..."),
    ],
    ids=[
        "short",
        "just short enough",
        "too long",
        "two bytes each",
        "too many bytes",
        "mid-letter",
    ],
)
def test_notes_are_cut_to_what_the_server_takes(note: str, cut: str) -> None:
    assert cut_note(note) == cut
    assert len(cut.encode()) <= NOTE_LIMIT


@pytest.mark.parametrize(
    ("related", "told"),
    [
        pytest.param(None, False, id="no related object"),
        pytest.param(NODE, False, id="a related object"),
        pytest.param("text", True, id="something that is no object"),
    ],
)
def test_a_related_object_that_is_none_is_told_at_the_highest_verbosity(
    related: Any, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO - 9):
        record(POD, related=related)
    assert caplog.messages == ["Could not construct reference"] * told
