"""The totals that `make coverage` prints."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tools.coverage_totals import Count, Coverage, read, rooms, table


def file(lines: tuple[int, int], branches: tuple[int, int]) -> dict[str, dict[str, int]]:
    return {
        "summary": {
            "covered_lines": lines[0],
            "num_statements": lines[1],
            "covered_branches": branches[0],
            "num_branches": branches[1],
        }
    }


REPORT = {
    "files": {
        "src/mooring/errors.py": file((10, 10), (0, 0)),
        "src/mooring/cel/lexer.py": file((8, 10), (3, 4)),
        "/somewhere/src/mooring/cel/deep/parser.py": file((10, 10), (6, 6)),
    }
}


def test_modules_are_named_by_their_path_below_the_package():
    assert list(read(REPORT)) == [
        PurePath("errors.py"),
        PurePath("cel/lexer.py"),
        PurePath("cel/deep/parser.py"),
    ]


def test_a_room_is_the_sum_of_its_modules():
    assert rooms(read(REPORT)) == {
        "errors": Coverage(Count(10, 10), Count(0, 0)),
        "cel": Coverage(Count(18, 20), Count(9, 10)),
    }


def test_a_row_shows_both_percentages():
    assert table(rooms(read(REPORT)).items()).split() == [
        "errors",
        "100.0",
        "100.0",
        "cel",
        "90.0",
        "90.0",
    ]


@pytest.mark.parametrize(
    ("lines", "branches", "suffices"),
    [
        pytest.param(Count(95, 100), Count(90, 100), True, id="just enough of both"),
        pytest.param(Count(94, 100), Count(100, 100), False, id="too few lines"),
        pytest.param(Count(100, 100), Count(89, 100), False, id="too few branches"),
        pytest.param(Count(1, 1), Count(0, 0), True, id="code without a branch"),
    ],
)
def test_both_limits_count(lines, branches, suffices):
    assert Coverage(lines, branches).suffices is suffices
