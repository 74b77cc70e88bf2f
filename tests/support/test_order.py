"""The random order of tests."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace
from typing import Any

from tests.support.order import shuffle

NAMES = [f"tests/test_{file}.py::test_{number}" for file in range(8) for number in range(8)]


def shuffled(seed: int) -> list[str]:
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in NAMES]
    shuffle(items, seed)
    return [item.nodeid for item in items]


def test_a_seed_stands_for_one_order_of_all_tests() -> None:
    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert sorted(shuffled(1)) == NAMES


def test_files_and_their_tests_change_places_and_no_file_is_divided() -> None:
    order = shuffled(1)
    files = [file for file, _ in groupby(order, lambda name: name.partition("::")[0])]
    assert len(files) == 8
    assert files != sorted(files)
    first = [name for name in order if name.startswith(files[0])]
    assert first != sorted(first)
