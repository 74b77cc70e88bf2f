from __future__ import annotations

import pytest

from mooring.apiserver.http import (
    ApiRequest,
    ApiResponse,
    MediaType,
    accepted,
    answer,
    header_pairs,
    refuse,
    text,
)
from mooring.apiserver.refusals import too_many_requests


def _request(**query: list[str]) -> ApiRequest:
    return ApiRequest("GET", "/", query, {})


def test_parameters() -> None:
    assert _request(a=["x", "y"]).parameter("a") == "x"
    assert _request(a=[]).parameter("a") == ""
    assert _request().parameter("a") == ""


@pytest.mark.parametrize(
    ("values", "flag"),
    [
        (["true"], True),
        ([""], True),
        (["yes"], True),
        (["false"], False),
        (["False"], False),
        (["0"], False),
    ],
)
def test_flags(values: list[str], flag: bool) -> None:
    assert _request(a=values).flag("a") is flag
    assert _request().flag("a") is False


def test_responses() -> None:
    assert (answer({"a": 1}, 201).body, answer({}).code) == (b'{"a":1}', 200)
    plain = text("é", 404)
    assert (plain.code, plain.body) == (404, "é".encode())
    assert plain.content_type.startswith("text/plain")


def test_a_refusal_keeps_its_status_headers_and_warnings() -> None:
    refusal = too_many_requests("later", [], 5)
    refusal.warnings.append("old")
    response = refuse(refusal)
    assert response.code == 429
    assert b'"message":"later"' in response.body
    assert response.headers == {"Retry-After": "5"}
    assert response.warnings == ["old"]


def test_headers() -> None:
    response = ApiResponse(200, headers={"ETag": "x"}, warnings=['say "no"\nor \\'])
    assert header_pairs(response) == [
        ("Content-Type", "application/json"),
        ("Cache-Control", "no-cache, private"),
        ("ETag", "x"),
        ("Warning", '299 - "say \\"no\\" or \\\\"'),
    ]


ACCEPT = {
    "nothing": ("", []),
    "one type": ("application/json", [MediaType("application/json", {})]),
    "types in their order": (
        "text/html, Application/YAML",
        [MediaType("text/html", {}), MediaType("application/yaml", {})],
    ),
    "parameters": (
        "application/json; as=Table;v=v1 ;q=0.5",
        [MediaType("application/json", {"as": "Table", "v": "v1", "q": "0.5"})],
    ),
    "empty clauses": (", ,*/*", [MediaType("*/*", {})]),
}


@pytest.mark.parametrize(("header", "clauses"), ACCEPT.values(), ids=ACCEPT)
def test_accept(header: str, clauses: list[MediaType]) -> None:
    assert accepted(header) == clauses
