"""Failures as errors, lists as objects."""

from __future__ import annotations

import logging

import msgspec
import pytest

from mooring.api import CustomResource, Pod
from mooring.client.responses import (
    StatusAnswer,
    api_error,
    decode_list,
    decode_object,
    error_of_status,
)
from mooring.errors import ObjectError
from tests.client.fakes import failure

URL = "https://server/api/v1/pods"


@pytest.mark.parametrize(
    ("status", "headers", "body", "text", "retry_after"),
    [
        pytest.param(
            404,
            {},
            msgspec.json.encode(failure(404, "NotFound", 'pods "p" not found')),
            f'GET {URL}: 404 NotFound: pods "p" not found',
            None,
            id="a Status is read",
        ),
        pytest.param(
            502,
            {},
            b"<html>\n<body>Bad Gateway</body>",
            f"GET {URL}: 502 BadGateway: <html>",
            None,
            id="what a proxy says is shown in a line",
        ),
        pytest.param(500, {}, b"", f"GET {URL}: 500 InternalServerError", None, id="no body"),
        pytest.param(799, {}, b"\xff", f"GET {URL}: 799: \ufffd", None, id="no text"),
        pytest.param(
            429,
            {"Retry-After": "7"},
            b"slow down",
            f"GET {URL}: 429 TooManyRequests: slow down",
            7.0,
            id="the server says how long to wait",
        ),
        pytest.param(
            503,
            {"Retry-After": "9" * 400},
            b"",
            f"GET {URL}: 503 ServiceUnavailable",
            60.0,
            id="a server that asks for too much patience",
        ),
        pytest.param(
            503,
            {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"},
            b"",
            f"GET {URL}: 503 ServiceUnavailable",
            None,
            id="a date is no time to wait, as for client-go",
        ),
    ],
)
def test_a_failure_says_what_and_where(
    status: int, headers: dict[str, str], body: bytes, text: str, retry_after: float | None
) -> None:
    error = api_error(status, headers, body, "GET", URL)
    assert str(error) == text
    assert error.retry_after == retry_after


def pod_list(*items: bytes) -> bytes:
    head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['
    return head + b",".join(items) + b"]}"


GOOD = b'{"metadata":{"name":"a"}}'


def test_a_list_is_read() -> None:
    found = decode_list(pod_list(GOOD), Pod)
    assert found.metadata.resource_version == "7"
    assert [one.metadata.name for one in found.items] == ["a"]


def test_nulls_are_absent_fields() -> None:
    found = decode_list(pod_list(b'{"metadata":{"name":"a","labels":null}}'), Pod)
    assert [one.metadata.name for one in found.items] == ["a"]
    assert decode_list(b'{"metadata":{},"items":null}', Pod).items == []


def test_a_broken_object_does_not_hide_the_others(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        found = decode_list(pod_list(b'{"metadata":{"name":5}}', GOOD), Pod)
    assert [one.metadata.name for one in found.items] == ["a"]
    assert "going on without it" in caplog.text
    caplog.clear()
    found = decode_list(pod_list(*[b'{"metadata":{"name":5}}'] * 1000, GOOD), Pod)
    assert [one.metadata.name for one in found.items] == ["a"]
    assert len(caplog.records) == 11
    assert caplog.records[-1].__dict__["kv"] == {"count": 990}


@pytest.mark.parametrize("body", [b"", b"garbage", b"[1]", b'{"items":5}', b"\xff"])
@pytest.mark.parametrize("struct", [Pod, CustomResource])
def test_garbage_is_no_list(body: bytes, struct: type[Pod]) -> None:
    with pytest.raises(ObjectError):
        decode_list(body, struct)


def test_items_of_a_custom_list_may_leave_their_type_to_it() -> None:
    body = (
        b'{"kind":"CrewList","apiVersion":"x.io/v1","metadata":{"resourceVersion":"1"},'
        b'"items":[{"metadata":{"name":"a"},"spec":{"size":3}}]}'
    )
    (found,) = decode_list(body, CustomResource).items
    assert (found.kind, found.api_version, found.get("spec.size")) == ("Crew", "x.io/v1", 3)


def test_an_object_is_read_as_its_kind() -> None:
    assert decode_object(GOOD, Pod).metadata.name == "a"
    custom = b'{"kind":"Crew","apiVersion":"x.io/v1","metadata":{"name":"a"}}'
    assert decode_object(custom, CustomResource).kind == "Crew"
    raw = b'{"kind":"Pod","apiVersion":"v1","spec":{"unheard":1}}'
    assert decode_object(raw, CustomResource).get("spec.unheard") == 1
    with pytest.raises(ObjectError, match="kind is missing"):
        decode_object(b'{"apiVersion":"v1"}', CustomResource)


@pytest.mark.parametrize(
    ("said", "status", "retry_after"),
    [
        pytest.param({"code": 410, "reason": "Expired"}, 410, None, id="as it says"),
        pytest.param({"reason": "Unknown"}, 500, None, id="without a code"),
        pytest.param({"code": 429, "details": {"retryAfterSeconds": 3}}, 429, 3.0, id="later"),
        pytest.param({"code": 429, "details": {"retryAfterSeconds": 1}}, 429, 1.0, id="soon"),
        pytest.param({"code": 429, "details": {"retryAfterSeconds": 0}}, 429, None, id="now"),
        pytest.param({"code": 429, "details": {"retryAfterSeconds": "3"}}, 429, None, id="a text"),
    ],
)
def test_an_error_within_a_watch(
    said: dict[str, object], status: int, retry_after: float | None
) -> None:
    answered = msgspec.convert({"message": "no", **said}, StatusAnswer)
    error = error_of_status(answered, "GET", "https://server/pods")
    assert (error.status, error.retry_after) == (status, retry_after)
    assert error.reason == said.get("reason", "")
    assert "no" in str(error)


def test_what_a_proxy_says_is_shown_in_short() -> None:
    error = api_error(502, {}, b"x" * 300, "GET", URL)
    assert str(error) == f"GET {URL}: 502 BadGateway: " + "x" * 200


@pytest.mark.parametrize(
    ("headers", "seconds", "retry_after"),
    [
        pytest.param({}, 61, 60.0, id="no more than a minute"),
        pytest.param({}, 59, 59.0, id="as long as it says"),
        pytest.param({"Date": "today"}, 3, None, id="only the header counts if there are headers"),
        pytest.param({"Retry-After": "61"}, 3, 60.0, id="no more than a minute by the header"),
        pytest.param({"Retry-After": "0"}, 3, 0.0, id="at once"),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: int, retry_after: float | None) -> None:
    body = msgspec.json.encode(failure(429, "No", details={"retryAfterSeconds": seconds}))
    assert api_error(429, headers, body, "GET", URL).retry_after == retry_after


@pytest.mark.parametrize(("broken", "lines"), [(9, 9), (10, 10), (11, 11), (30, 11)])
def test_ten_objects_that_cannot_be_read_are_logged(
    broken: int, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        decode_list(pod_list(*[b'{"metadata":{"name":5}}'] * broken), Pod)
    assert len(caplog.records) == lines
    if broken > 10:
        assert caplog.records[-1].__dict__["kv"] == {"count": broken - 10}


def test_a_list_of_another_kind_is_refused() -> None:
    for items in (b"", b'{"metadata":null}'):
        body = b'{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[%s]}' % items
        with pytest.raises(ObjectError, match="expected a PodList, got NodeList"):
            decode_list(body, Pod)
    assert decode_list(b'{"kind":"List","items":[]}', Pod).items == []
