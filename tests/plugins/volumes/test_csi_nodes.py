from __future__ import annotations

import numpy as np
import pytest

from mooring.api import CSINode
from mooring.plugins.volumes.csi_nodes import NO_LIMIT, CSINodes, is_migrated, volume_limits
from tests.plugins.clusters import Cluster, make_node
from tests.plugins.volumes.storage import csi_node


@pytest.mark.parametrize(
    ("found", "migrated"),
    [
        pytest.param(None, False, id="no CSINode"),
        pytest.param(csi_node("n"), False, id="no annotation"),
        pytest.param(csi_node("n", migrated="a,b"), True, id="one of several"),
        pytest.param(csi_node("n", migrated="abc"), False, id="another that begins alike"),
    ],
)
def test_what_was_taken_over(found: CSINode | None, migrated: bool) -> None:
    assert is_migrated("a", found) is migrated


def test_drivers_without_a_limit_are_absent() -> None:
    assert volume_limits(csi_node("n", {"a": 3, "b": None, "c": 0})) == {"a": 3, "c": 0}
    assert volume_limits(None) == {}


def test_answers_follow_nodes_and_csi_nodes() -> None:
    cluster = Cluster([make_node("a"), make_node("b")], objects=[csi_node("a", {"d": 2})])
    store = cluster.lister(CSINode)
    csi_nodes = CSINodes(store)
    assert csi_nodes.limits("d", cluster.snapshot).tolist() == [2, NO_LIMIT]
    assert csi_nodes.present(cluster.snapshot).tolist() == [True, False]
    assert csi_nodes.limited(cluster.snapshot).tolist() == [True, False]
    store.add(csi_node("b", {"d": None}, migrated="x"))
    assert csi_nodes.present(cluster.snapshot).tolist() == [True, True]
    assert csi_nodes.has_driver("d", cluster.snapshot).tolist() == [True, True]
    assert csi_nodes.migrated("x", cluster.snapshot).tolist() == [False, True]
    cluster.cache.add_node(make_node("c"))
    assert csi_nodes.present(cluster.snapshot).tolist() == [True, True, False]
    some = cluster.snapshot.select(np.array([2, 0], dtype=np.intp))
    assert csi_nodes.limits("d", some).tolist() == [NO_LIMIT, 2]
