from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.plugins.normalize import normalize_by_max

# kube-scheduler: plugins/helper/normalize_score_test.go
CASES = [
    pytest.param([1, 2, 3, 4], False, [25, 50, 75, 100], id="the highest becomes 100"),
    pytest.param([1, 2, 3, 4], True, [75, 50, 25, 0], id="reversed, the highest becomes 0"),
    pytest.param([1000, 10, 20, 30], False, [100, 1, 2, 3], id="the rest is scaled down"),
    pytest.param(
        [1000, 10, 20, 30], True, [0, 99, 98, 97], id="reversed, the rest is close to 100"
    ),
    pytest.param([1, 1, 1, 1], False, [100, 100, 100, 100], id="equal scores are all the highest"),
    pytest.param([1000, 1, 1, 1], False, [100, 0, 0, 0], id="fractions are cut off"),
    pytest.param([0, 0], False, [0, 0], id="zeros stay"),
    pytest.param([0, 0], True, [100, 100], id="reversed, zeros become 100"),
    pytest.param([], False, [], id="no scores"),
    pytest.param([], True, [], id="no scores, reversed"),
    pytest.param([7], False, [100], id="one score is the highest"),
    pytest.param([7], True, [0], id="one score, reversed"),
    pytest.param([0], False, [0], id="one zero stays"),
    pytest.param([0], True, [100], id="reversed, one zero becomes 100"),
    pytest.param([-7], False, [-7], id="one negative score stays"),
    pytest.param([2**50], True, [0], id="one very high score, reversed"),
    pytest.param([2**50, 2**49 - 1], False, [100, 49], id="very high scores"),
]


@pytest.mark.parametrize(("scores", "reverse", "expected"), CASES)
def test_scores_are_scaled(scores: list[int], reverse: bool, expected: list[int]) -> None:
    found = normalize_by_max(np.array(scores, dtype=np.int64), reverse=reverse)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@given(st.lists(st.integers(0, 2**56), min_size=1), st.booleans())
def test_the_result_is_that_of_integer_division(scores: list[int], reverse: bool) -> None:
    highest = max(scores)
    expected = [100 * score // highest if highest else score for score in scores]
    if reverse:
        expected = [100 - score for score in expected]
    assert normalize_by_max(np.array(scores), reverse=reverse).tolist() == expected
