"""Both forms of Filter and Score agree, on all nodes and on some."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testing import broken


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (broken.FiltersDiffer, r"point Filter, node n\d: both forms agree"),
        (broken.CodesDiffer, "both forms agree: UnschedulableAndUnresolvable .* in vector form"),
        (broken.ScoresDiffer, r"point Score, node n\d: both forms agree: \d+ in vector form"),
        (broken.ComparesWithThoseAsked, "Filter, .* the answer for some nodes is that for all"),
        (broken.ScoresBySizeOfTheChoice, "Score, .* the answer for some nodes is that for all"),
        (broken.CountsAsks, "asking changes nothing"),
        (broken.NormalisesByCount, "one score that stands for all nodes"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_promise_is_named(plugin: Any, message: str) -> None:
    broken.check(plugin, message)
