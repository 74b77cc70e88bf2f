"""Plain-text tables."""

from __future__ import annotations

import pytest

from mooring.explain.tables import fold, table, wrap


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("NodePorts", ["NodePorts"]),
        ("TaintToleration", ["Taint", "Toleration"]),
        ("NodeResourcesFit", ["Node", "ResourcesFit"]),
        ("CSIStorageCapacity", ["CSIStorage", "Capacity"]),
        ("sample-plugin-of-mine", ["sample", "-plugin-of", "-mine"]),
        ("averyveryverylongword", ["averyveryverylongword"]),
        ("名前", ["名前"]),
        ("", [""]),
    ],
)
def test_a_name_is_folded_between_words(name: str, lines: list[str]) -> None:
    assert fold(name) == lines
    assert "".join(lines) == name


def test_columns_are_as_wide_as_what_they_hold() -> None:
    assert table(
        ["A", ["Long", "Header"], "C"], [["aaa", "1", ""], ["b", "22", "c"]], indent="> "
    ) == [
        "> A    Long    C",
        ">      Header",
        "> aaa  1",
        "> b    22      c",
    ]


def test_a_table_may_have_no_rows() -> None:
    assert table(["A", "B"], []) == ["A  B"]


def test_texts_are_broken_where_a_width_is_given() -> None:
    text = "0/3 nodes are available: 3 Insufficient cpu."
    assert wrap(text, None) == [text]
    assert wrap(text, 24, indent="  ") == ["0/3 nodes are available:", "  3 Insufficient cpu."]
    assert wrap("", 24) == [""]
