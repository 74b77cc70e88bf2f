"""The errors of an expression as text."""

from __future__ import annotations

import pytest

from mooring.cel.issues import Issue, describe


@pytest.mark.parametrize(
    ("source", "place", "text"),
    [
        pytest.param("a + b", 4, "1:5: bad\n | a + b\n | ....^", id="a caret marks the place"),
        pytest.param("a +\n  b", 6, "2:3: bad\n |   b\n | ..^", id="lines are counted"),
        pytest.param("a\nb", 0, "1:1: bad\n | a\n | ^", id="a line ends before its newline"),
        pytest.param("\ta", 1, "1:2: bad\n |  a\n | .^", id="a tab is shown as a space"),
        pytest.param(
            "'é' + é", 6, "1:7: bad\n | 'é' + é\n | .\uff0e....\uff3e", id="wide characters"
        ),
        pytest.param("a", 1, "1:2: bad\n | a\n | .^", id="the end of the source"),
        pytest.param("a", -1, "-1:0: bad", id="the whole source"),
        pytest.param("a" * 16_385, 3, "1:4: bad", id="a very long line is not shown"),
    ],
)
def test_an_issue_is_shown_with_its_line(source: str, place: int, text: str) -> None:
    assert describe(source, [Issue(place, "bad")]) == f"ERROR: <input>:{text}"


def test_issues_come_in_the_order_of_their_places() -> None:
    text = describe("abc", [Issue(2, "third"), Issue(0, "first"), Issue(2, "fourth")])
    assert [line.split(": ")[-1] for line in text.splitlines() if "ERROR" in line] == [
        "first",
        "third",
        "fourth",
    ]


def test_only_a_hundred_issues_are_told() -> None:
    issues = [Issue(-1, f"bad {number}") for number in range(103)]
    lines = describe("a", issues).splitlines()
    assert lines[99:] == ["ERROR: <input>:-1:0: bad 99", "3 more errors were truncated"]
    assert "truncated" not in describe("a", issues[:100])
