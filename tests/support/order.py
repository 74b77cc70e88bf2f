"""A random order of tests, drawn from a seed: no test may need what another one left behind."""

from __future__ import annotations

import random

import pytest

OPTION = "--order-seed"


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Put the files in a random order, and the tests in each; every process draws the same one.

    The tests of a file stay together, because they share fixtures.
    """
    draws = random.Random(seed)
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    shuffled = list(files.values())
    draws.shuffle(shuffled)
    for tests in shuffled:
        draws.shuffle(tests)
    items[:] = [item for tests in shuffled for item in tests]
