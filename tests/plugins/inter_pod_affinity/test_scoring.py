"""Tests of the normalisation of affinity scores."""

from __future__ import annotations

import numpy as np
import pytest

from mooring.plugins.inter_pod_affinity.scoring import normalize


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([], [], id="no node"),
        pytest.param([7, 7], [0, 0], id="equal scores are all 0"),
        pytest.param([-5, 0, 5], [0, 50, 100], id="the span is stretched"),
        # 100 * (29 / 100) is 28.999999999999996 in float64, and is truncated.
        pytest.param([0, 29, 100], [0, 28, 100], id="the quotient comes first, then it is cut"),
    ],
)
def test_normalize(scores: list[int], expected: list[int]) -> None:
    assert normalize(np.array(scores, dtype=np.int64)).tolist() == expected
