"""Tests of sums per topology domain."""

from __future__ import annotations

import numpy as np

from mooring.plugins.topology import TopologyDomains
from tests.plugins.clusters import ZONE, Cluster, make_node


def _domains() -> TopologyDomains:
    nodes = [make_node("a", {ZONE: "x"}), make_node("b", {ZONE: "y"}), make_node("c", {ZONE: "x"})]
    cluster = Cluster([*nodes, make_node("d")])
    return TopologyDomains.count(cluster.snapshot, ZONE, np.array([1, 0, 2, 7], dtype=np.int32))


def test_counts_are_added_up_per_value() -> None:
    domains = _domains()
    assert (domains.of("x"), domains.of("y"), domains.of("elsewhere")) == (3, 0, 0)


def test_rows_without_the_label_are_no_occupied_domain() -> None:
    domains = _domains()
    assert domains.sums[0] == 7
    assert np.flatnonzero(domains.occupied).tolist() == [domains.column.code_of("x")]


def test_a_clone_and_its_original_change_alone() -> None:
    domains = _domains()
    assert domains.occupied.any()
    clone = domains.clone()
    domains.change("x", -3)
    clone.change("y", 1)
    assert (domains.of("x"), domains.of("y"), domains.occupied.any()) == (0, 0, False)
    assert (clone.of("x"), clone.of("y"), int(clone.occupied.sum())) == (3, 1, 2)


def test_a_change_of_no_value_or_an_unknown_one_is_ignored() -> None:
    domains = _domains()
    domains.change(None, 5)
    domains.change("elsewhere", 5)
    assert domains.sums.sum() == 10
