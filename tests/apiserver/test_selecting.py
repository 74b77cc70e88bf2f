"""Selectors on objects that are cached decoded, and on those kept only as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver import resource_store as store_module
from mooring.apiserver import selecting
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import Stored
from tests.apiserver.api_server import PODS, ApiServer, pod


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        pytest.param("spec.nodeName=n1", ["a"], id="a text"),
        pytest.param("spec.nodeName!=n1", ["b", "c"], id="a text that is absent"),
        pytest.param("spec.hostNetwork=true", ["b"], id="a boolean"),
        pytest.param("spec.hostNetwork=false", ["a", "c"], id="a boolean that is absent"),
        pytest.param("status.phase=Pending,metadata.name=c", ["c"], id="two of them"),
        pytest.param("status.podIPs=", ["a", "b", "c"], id="one that is computed"),
        pytest.param("status.podIP=", ["a", "b", "c"], id="a text that no object has"),
    ],
)
@pytest.mark.parametrize("recent", [1, 1000], ids=["bytes", "decoded"])
async def test_fields_select(
    selector: str, found: list[str], recent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "RECENT", recent)
    server = ApiServer()
    await server.ask("POST", PODS, pod("a", nodeName="n1"))
    await server.ask("POST", PODS, pod("b", hostNetwork=True))
    await server.ask("POST", PODS, pod("c"))
    answer = await server.send("GET", f"{PODS}?fieldSelector={selector}")
    assert [one["metadata"]["name"] for one in json.loads(answer.body)["items"]] == found


def _read(path: str = "/v1/pods", **query: str) -> selecting.RequestSelection:
    request = ApiRequest("GET", "", {key: [value] for key, value in query.items()}, {})
    return selecting.read(request, ApiServer().served(path))


REFUSED: dict[str, tuple[str, dict[str, str], str]] = {
    "an unknown field": (
        "/v1/pods",
        {"fieldSelector": "spec.x=1"},
        "field label not supported: spec.x",
    ),
    "an unknown field of a job": (
        "batch/v1/jobs",
        {"fieldSelector": "spec.x=1"},
        'field label "spec.x" not supported for Job',
    ),
    "an unknown field of a slice": (
        "resource.k8s.io/v1/resourceslices",
        {"fieldSelector": "spec.x=1"},
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x",
    ),
    "an unknown field of a kind without any": (
        "/v1/configmaps",
        {"fieldSelector": "data=1"},
        '"data" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ),
    "the older name of an event's field": (
        "events.k8s.io/v1/events",
        {"fieldSelector": "involvedObject.name=x"},
        "field label not supported: involvedObject.name",
    ),
    "no field selector": (
        "/v1/pods",
        {"fieldSelector": "spec.nodeName"},
        "invalid selector: 'spec.nodeName'; can't understand 'spec.nodeName'",
    ),
    "an unescaped value": (
        "/v1/pods",
        {"fieldSelector": "spec.nodeName=a=b"},
        "invalid field selector: unescaped character in value: 61",
    ),
    "an unknown escape": (
        "/v1/pods",
        {"fieldSelector": "spec.nodeName=a\\x"},
        "invalid field selector: invalid escape sequence: \\x",
    ),
    "labels without a value": (
        "/v1/pods",
        {"labelSelector": "a in"},
        "unable to parse requirement: found '' expected: '('",
    ),
    "labels that end early": (
        "/v1/pods",
        {"labelSelector": "a in (b"},
        "unable to parse requirement: found '', expected: ',' or ')'",
    ),
    "labels that begin badly": (
        "/v1/pods",
        {"labelSelector": ",a"},
        "found ',', expected: !, identifier, or 'end of string'",
    ),
    "labels that go on badly": (
        "/v1/pods",
        {"labelSelector": "a,,b"},
        "found ',', expected: identifier after ','",
    ),
    "an unknown operator": (
        "/v1/pods",
        {"labelSelector": "a ? b"},
        "unable to parse requirement: found '?', expected: in, notin, =, ==, !=, gt, lt",
    ),
    "a bad value": (
        "/v1/pods",
        {"labelSelector": "a=b c"},
        "found 'c', expected: ',' or 'end of string'",
    ),
    "a bad key": (
        "/v1/pods",
        {"labelSelector": "a/b/c=d"},
        (
            'unable to parse requirement: <nil>: Invalid value: "a/b/c": a valid label '
            "key must consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain "
            "prefix and '/' (e.g. 'example.com/MyName')"
        ),
    ),
}


@pytest.mark.parametrize(("path", "query", "message"), REFUSED.values(), ids=REFUSED)
def test_selectors_that_are_refused(path: str, query: dict[str, str], message: str) -> None:
    with pytest.raises(Refusal) as refused:
        _read(path, **query)
    assert refused.value.code == 400
    assert str(refused.value) == message


def _pod(name: str, **labels: str) -> Stored:
    obj = {"kind": "Pod", "metadata": {"name": name, "namespace": "n", "labels": labels}}
    return Stored(f"n/{name}", {**obj, "spec": {"nodeName": "x"}}, 1)


def test_labels_and_fields_must_both_match() -> None:
    selection = _read(labelSelector="a=b", fieldSelector="spec.host=x,metadata.name!=q")
    assert selection.matches(_pod("p", a="b"))
    assert not selection.matches(_pod("p", a="c"))
    assert not selection.matches(_pod("q", a="b"))


def test_a_request_without_selectors_selects_everything() -> None:
    assert _read() is selecting.EVERYTHING
    assert selecting.EVERYTHING.empty
    assert selecting.EVERYTHING.matches(_pod("p"))


def test_the_name_that_is_selected() -> None:
    assert _read(fieldSelector="metadata.name=p,spec.nodeName=x").name == "p"
    assert _read(fieldSelector="metadata.name!=p").name == _read(labelSelector="a").name == ""
    one = _read(labelSelector="a=b").and_name("p")
    assert one.name == "p"
    assert one.matches(_pod("p", a="b")) and not one.matches(_pod("q", a="b"))


FIELDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "the component of an event": (
        {"kind": "Event", "source": {"component": "c"}, "reportingComponent": "d"},
        "source=c",
        "/v1/events",
    ),
    "the reporter of an event": (
        {"kind": "Event", "reportingComponent": "d"},
        "source=d",
        "/v1/events",
    ),
    "the successes of a job": (
        {"kind": "Job", "status": {"succeeded": 2}},
        "status.successful=2",
        "batch/v1/jobs",
    ),
    "a node that takes pods": (
        {"kind": "Node", "spec": {}},
        "spec.unschedulable=false",
        "/v1/nodes",
    ),
}


@pytest.mark.parametrize(("obj", "selector", "path"), FIELDS.values(), ids=FIELDS)
def test_fields_that_are_computed(obj: dict[str, Any], selector: str, path: str) -> None:
    stored = Stored("x", {"metadata": {"name": "x"}, **obj}, 1)
    assert _read(path, fieldSelector=selector).matches(stored)
    assert not _read(path, fieldSelector=selector.replace("=", "!=")).matches(stored)


SELECTORS: dict[str, tuple[dict[str, Any] | None, bool]] = {
    "none": (None, False),
    "an empty one": ({}, True),
    "labels": ({"matchLabels": {"a": "b"}}, True),
    "other labels": ({"matchLabels": {"a": "c"}}, False),
    "an expression": ({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, True),
    "an unknown operator": ({"matchExpressions": [{"key": "a", "operator": "Is"}]}, False),
}


@pytest.mark.parametrize(("selector", "matches"), SELECTORS.values(), ids=SELECTORS)
def test_selectors_of_objects(selector: dict[str, Any] | None, matches: bool) -> None:
    assert selecting.selector_of(selector).matches({"a": "b"}) is matches
