from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.node_info import NodeInfo
from mooring.plugins.volumes.rows import ChangedRows, RowCounts, RowIndex
from tests.plugins.clusters import Cluster, make_node, make_pod


def _names(node: NodeInfo) -> list[str]:
    return [pod.pod.metadata.name for pod in node.pods.values()]


def _count(node: NodeInfo) -> int:
    return len(node.pods)


def test_a_row_is_reported_once_per_change() -> None:
    cluster = Cluster([make_node("a"), make_node("b")])
    changed = ChangedRows()
    assert changed.take(cluster.snapshot) == [0, 1]
    assert changed.take(cluster.snapshot) == []
    cluster.cache.add_pod(make_pod("p", node="b"))
    assert changed.take(cluster.snapshot) == [1]
    cluster.cache.add_node(make_node("c"))
    assert changed.take(cluster.snapshot) == [2]


def test_asking_about_some_nodes_refreshes_all() -> None:
    cluster = Cluster([make_node("a"), make_node("b")], [make_pod("p", node="b")])
    index = RowIndex(_names)
    index.refresh(cluster.snapshot.select(np.array([0], dtype=np.intp)))
    assert index.rows("p") == {1}
    assert RowCounts(_count).of(cluster.snapshot).tolist() == [0, 1]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["node", "no node", "pod", "no pod", "look"]),
        st.sampled_from("abcd"),
        st.sampled_from("pqr"),
    ),
    max_size=30,
)


@given(STEPS)
def test_whatever_changes_the_rows_are_what_a_recount_finds(
    steps: list[tuple[str, str, str]],
) -> None:
    cluster = Cluster([make_node("a")])
    cache = cluster.cache
    index, counts = RowIndex(_names), RowCounts(_count)
    nodes, pods = {"a"}, {}
    for action, node, pod in [*steps, ("look", "a", "p")]:
        if action == "node" and node not in nodes:
            cache.add_node(make_node(node))
            nodes.add(node)
        elif action == "no node" and node in nodes:
            cache.remove_node(node)
            nodes.discard(node)
        elif action == "pod" and pod not in pods:
            made = make_pod(pod, node=node)
            cache.add_pod(made)
            pods[pod] = made
        elif action == "no pod" and pod in pods:
            cache.remove_pod(pods.pop(pod).metadata.uid)
        elif action == "look":
            snapshot = cluster.snapshot
            index.refresh(snapshot)
            infos = snapshot.infos()
            assert counts.of(snapshot).tolist() == [_count(info) for info in infos]
            for name in "pqr":
                expected = {row for row, info in enumerate(infos) if name in _names(info)}
                assert index.rows(name) == expected
