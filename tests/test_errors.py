"""The exceptions and their messages."""

from __future__ import annotations

import pytest

from mooring.errors import (
    MAX_TEXT,
    ApiError,
    ConfigError,
    ExtenderError,
    MooringError,
    NoAnswerError,
    ObjectError,
    PluginError,
    cut_text,
)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ConfigError("bad", path="profiles[0]", file="c.yaml", line=10, column=17),
            "c.yaml:10:17: profiles[0]: bad",
        ),
        (ConfigError("bad"), "bad"),
        (ConfigError("bad", path="a", advice="do good"), "a: bad\nadvice: do good"),
        (
            ObjectError("bad", path="spec", file="p.yaml", document=2, line=3),
            "p.yaml:3: document 2: spec: bad",
        ),
        (ObjectError("bad", document=2), "document 2: bad"),
        (
            ApiError(404, "no such pod", reason="NotFound", method="GET", url="/api/v1/pods/x"),
            "GET /api/v1/pods/x: 404 NotFound: no such pod",
        ),
        (ApiError(500), "500"),
        (
            NoAnswerError("connection refused", sent=False, method="GET", url="https://x/api"),
            "GET https://x/api: connection refused",
        ),
        (
            PluginError("bad", plugin="P", point="filter", node="n"),
            "plugin P, point filter, node n: bad",
        ),
        (PluginError("bad", plugin="P"), "plugin P: bad"),
    ],
    ids=str,
)
def test_an_error_says_where_it_happened(error, text):
    assert str(error) == text
    assert isinstance(error, MooringError)


def test_a_place_is_filled_in_without_losing_what_was_known():
    error = ObjectError("bad", path="spec").at(file="f", document=1)
    assert str(error) == "f: document 1: spec: bad"
    assert str(error.at(path="metadata", line=4)) == "f:4: document 1: metadata: bad"


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (ApiError(404, reason="NotFound"), {"not_found"}),
        (ApiError(409, reason="Conflict"), {"conflict"}),
        (ApiError(409, reason="AlreadyExists"), {"already_exists"}),
        (ApiError(410, reason="Expired"), {"gone"}),
        (ApiError(401), {"unauthorized"}),
        (ApiError(403), {"forbidden"}),
        (ApiError(429), {"too_many_requests"}),
        (NoAnswerError("lost", sent=True), set()),
    ],
    ids=str,
)
def test_an_answer_is_known_by_its_kind(error, kinds):
    names = [
        "not_found",
        "conflict",
        "already_exists",
        "gone",
        "unauthorized",
        "forbidden",
        "too_many_requests",
    ]
    assert {name for name in names if getattr(error, f"is_{name}")} == kinds


@pytest.mark.parametrize(
    ("error", "maybe"),
    [
        (ApiError(409), False),
        (ApiError(429), False),
        (ApiError(500), True),
        (ApiError(503), False),
        (ApiError(504), True),
        (NoAnswerError("connection reset", sent=True), True),
        (NoAnswerError("connection refused", sent=False), False),
    ],
    ids=str,
)
def test_a_write_may_have_been_applied_where_the_answer_does_not_say(error, maybe):
    assert error.maybe_applied is maybe


def test_texts_from_elsewhere_are_cut() -> None:
    long = "ä" * 100_000
    for error in (
        ExtenderError(long),
        ApiError(500, long, reason=long),
        NoAnswerError(long, sent=True),
    ):
        assert len(str(error).encode()) < 3 * MAX_TEXT
        assert str(error).endswith("ä ...")
    assert len(str(ExtenderError(long)).encode()) <= MAX_TEXT
    assert str(ExtenderError("x" * MAX_TEXT)) == "x" * MAX_TEXT
    assert cut_text("\ud800" * 100, 10) == "?" * 6 + " ..."
