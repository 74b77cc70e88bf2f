from __future__ import annotations

import pytest

from mooring.apiserver.http import ApiRequest
from mooring.apiserver.list_options import check_list, check_watch, version_of, whole
from mooring.apiserver.refusals import Refusal


def _request(**query: str) -> ApiRequest:
    return ApiRequest("GET", "/", {name: [value] for name, value in query.items()}, {})


LISTS: dict[str, tuple[dict[str, str], str]] = {
    "no options": ({}, ""),
    "a version": ({"resourceVersion": "5", "resourceVersionMatch": "Exact"}, ""),
    "a match of no version": (
        {"resourceVersionMatch": "Exact"},
        "resourceVersionMatch is forbidden unless resourceVersion is provided",
    ),
    "a match of a further page": (
        {"resourceVersion": "5", "resourceVersionMatch": "NotOlderThan", "continue": "x"},
        "resourceVersionMatch is forbidden when continue is provided",
    ),
    "an unknown match": (
        {"resourceVersion": "5", "resourceVersionMatch": "Newest"},
        'Unsupported value: "Newest": supported values: "Exact", "NotOlderThan", ""',
    ),
    "exactly any version": (
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ),
    "initial events": ({"sendInitialEvents": "true"}, "sendInitialEvents is forbidden for list"),
}


@pytest.mark.parametrize(("query", "message"), LISTS.values(), ids=LISTS)
def test_lists(query: dict[str, str], message: str) -> None:
    if not message:
        check_list(_request(**query))
        return
    with pytest.raises(Refusal) as refused:
        check_list(_request(**query))
    assert refused.value.code == 422
    assert message in str(refused.value)


WATCHES: dict[str, tuple[dict[str, str], bool | str | None]] = {
    "no options": ({}, None),
    "initial events": (
        {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        True,
    ),
    "no initial events": (
        {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
        False,
    ),
    "initial events without a match": (
        {"sendInitialEvents": "true"},
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ),
    "a match without initial events": (
        {"resourceVersionMatch": "NotOlderThan"},
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    ),
    "an unknown match": (
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ),
    "a further page": (
        {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "continue": "x"},
        "resourceVersionMatch is forbidden when continue is provided",
    ),
}


@pytest.mark.parametrize(("query", "expected"), WATCHES.values(), ids=WATCHES)
def test_watches(query: dict[str, str], expected: bool | str | None) -> None:
    if not isinstance(expected, str):
        assert check_watch(_request(**query)) is expected
        return
    with pytest.raises(Refusal) as refused:
        check_watch(_request(**query))
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("text", "version"), [("", 0), ("0", 0), ("17", 17), (str(2**64 - 1), 2**64 - 1)]
)
def test_versions(text: str, version: int) -> None:
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "invalid syntax"),
        ("-1", "invalid syntax"),
        ("٣", "invalid syntax"),
        (str(2**64), "value out of range"),
        ("9" * 10_000, "value out of range"),
    ],
    ids=["a word", "a negative number", "digits of others", "too large", "very much too large"],
)
def test_texts_that_are_not_versions(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^resourceVersion: Invalid value: .*{why}$"):
        version_of(text)


@pytest.mark.parametrize(
    ("text", "number"), [("", 0), ("5", 5), ("-5", -5), ("+5", 5), (str(2**63 - 1), 2**63 - 1)]
)
def test_numbers(text: str, number: int) -> None:
    assert whole(_request(limit=text), "limit") == number


@pytest.mark.parametrize("text", ["a", "5.0", "-", str(2**63), "9" * 10_000])
def test_texts_that_are_not_numbers(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        whole(_request(limit=text), "limit")
    assert refused.value.code == 400
    assert str(refused.value).startswith("strconv.ParseInt: parsing")
