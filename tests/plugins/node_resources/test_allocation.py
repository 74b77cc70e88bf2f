from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.plugins.node_resources.allocation import Share, capacity_of, percent, percent_of_nodes
from mooring.plugins.normalize import EXACT_LIMIT
from tests.plugins.cluster import Cluster, make_node


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        pytest.param(1, 3, 33, id="fractions are cut off"),
        pytest.param(-1, 3, -33, id="toward zero"),
        pytest.param(2**62, 2**62, 0, id="the product wraps as int64 does"),
        pytest.param(2**57, 2**57, -28, id="and may become negative"),
    ],
)
def test_percent_is_computed_as_in_go(part: int, whole: int, expected: int) -> None:
    assert percent(part, whole) == expected


WHOLES = st.one_of(st.integers(1, 1000), st.integers(1, EXACT_LIMIT - 1), st.integers(1, 2**62))


@given(st.lists(WHOLES, min_size=1, max_size=4), st.data())
def test_floats_give_what_integers_give(wholes: list[int], data: st.DataObject) -> None:
    parts = [data.draw(st.integers(0, whole)) for whole in wholes]
    nodes = Cluster(
        make_node(f"n{i}", allocatable={"memory": str(whole)}) for i, whole in enumerate(wholes)
    ).nodes
    found = percent_of_nodes(nodes, np.array(parts), capacity_of(nodes, Share("memory", 1, 0)))
    assert found.tolist() == [percent(p, w) for p, w in zip(parts, wholes, strict=True)]


@given(st.integers(1, EXACT_LIMIT - 1), st.integers(0, 100), st.integers(-1, 1))
def test_floats_are_exact_around_whole_percents(whole: int, quotient: int, off: int) -> None:
    part = min(max(whole * quotient // 100 + off, 0), whole)
    nodes = Cluster([make_node("n", allocatable={"memory": str(whole)})]).nodes
    found = percent_of_nodes(nodes, np.array([part]), capacity_of(nodes, Share("memory", 1, 0)))
    assert found.tolist() == [part * 100 // whole]
