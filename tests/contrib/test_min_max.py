"""Normalising the scores of one plugin."""

from __future__ import annotations

import numpy as np
import pytest

from mooring.contrib.min_max import min_max


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([0, 5, 10], [0, 50, 100]), ([-3, 0, 4], [0, 42, 100]), ([7, 7], [0, 0]), ([3], [0])],
    ids=["a range from 0", "a range below 0, rounded down", "equal scores", "one score"],
)
def test_scores_are_scaled_to_the_range_0_to_100(scores: list[int], expected: list[int]) -> None:
    assert min_max(np.array(scores, dtype=np.int64)).tolist() == expected
