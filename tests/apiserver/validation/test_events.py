from __future__ import annotations

import copy

import pytest

from mooring.apiserver.validation.events import (
    check_event,
    check_new_event,
    check_new_event_update,
)
from tests.apiserver.validation.objects import Object, texts

EVENT = {
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"namespace": "default"},
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingComponent": "acme.io/c",
    "reportingInstance": "i",
    "action": "Bind",
    "reason": "Bound",
    "type": "Normal",
}

OLDER: dict[str, tuple[str, str, list[str]]] = {
    "of the same namespace": ("n", "n", []),
    "of another namespace": (
        "n",
        "m",
        ['involvedObject.namespace: Invalid value: "m": does not match event.namespace'],
    ),
    "of an object outside of namespaces": ("default", "", []),
    "of no namespace, elsewhere": (
        "n",
        "",
        ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ),
}


@pytest.mark.parametrize(("namespace", "about", "expected"), OLDER.values(), ids=OLDER)
def test_older_events(namespace: str, about: str, expected: list[str]) -> None:
    event = {"metadata": {"namespace": namespace}, "involvedObject": {"namespace": about}}
    assert texts(check_event(event)) == expected


NEWER: dict[str, tuple[Object, list[str]]] = {
    "an event": ({}, []),
    "about an object outside of namespaces, elsewhere": (
        {"metadata": {"namespace": "n"}, "involvedObject": {}},
        ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    ),
    "no reporter": (
        {"reportingComponent": ""},
        [
            "reportingController: Required value",
            'reportingController: Invalid value: "": name part must be non-empty',
            'reportingController: Invalid value: "": <qualified name>',
        ],
    ),
    "no instance, action and reason": (
        {"reportingInstance": "", "action": "", "reason": ""},
        [
            "reportingInstance: Required value",
            "action: Required value",
            "reason: Required value",
        ],
    ),
    "long texts": (
        {"reason": "r" * 129, "message": "m" * 1025},
        [
            'reason: Invalid value: "": can have at most 128 characters',
            'message: Invalid value: "": can have at most 1024 characters',
        ],
    ),
    "an unknown type": ({"type": "Loud"}, ['type: Invalid value: "": has invalid value: Loud']),
    "a series of one": (
        {"series": {"count": 1}},
        [
            'series.count: Invalid value: "": should be at least 2',
            "series.lastObservedTime: Required value",
        ],
    ),
    "a series": ({"series": {"count": 2, "lastObservedTime": "t"}}, []),
    "fields of older events": (
        {"count": 1, "firstTimestamp": "t", "source": {"host": "h"}},
        [
            'firstTimestamp: Invalid value: "": needs to be unset',
            'count: Invalid value: "": needs to be unset',
            'source: Invalid value: "": needs to be unset',
        ],
    ),
    "no time": ({"eventTime": None}, ["eventTime: Required value"]),
}


@pytest.mark.parametrize(("fields", "expected"), NEWER.values(), ids=NEWER)
def test_newer_events(fields: Object, expected: list[str]) -> None:
    assert texts(check_new_event(EVENT | fields)) == expected


CHANGES: dict[str, tuple[Object, list[str]]] = {
    "the series": ({"series": {"count": 2, "lastObservedTime": "t"}}, []),
    "a bad series": (
        {"series": {"count": 1, "lastObservedTime": "t"}},
        ['series.count: Invalid value: "": should be at least 2'],
    ),
    "the action": ({"action": "Evict"}, ['action: Invalid value: "Evict": field is immutable']),
    "the reporter": (
        {"reportingComponent": "acme.io/d", "reportingInstance": "j"},
        [
            'reportingController: Invalid value: "acme.io/d": field is immutable',
            'reportingInstance: Invalid value: "j": field is immutable',
        ],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_of_events(change: Object, expected: list[str]) -> None:
    assert texts(check_new_event_update(copy.deepcopy(EVENT) | change, EVENT)) == expected
