"""What-if nodes, compared with a cache in which the change is real."""

from __future__ import annotations

import numpy as np
import pytest

from mooring.api.labels import EVERYTHING
from mooring.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.framework.what_if import PodBatch, WhatIf, one_row
from tests.plugins.cluster import make_node, make_pod

INFOS = PodInfos(FeatureGates())


def cluster() -> Cache:
    cache = Cache(INFOS)
    for name in ("a", "b", "c"):
        cache.add_node(make_node(name, allocatable={"cpu": "4", "memory": "8Gi", "pods": "9"}))
    cache.add_pod(make_pod("one", "b", requests={"cpu": "1", "memory": "1Gi"}))
    cache.add_pod(make_pod("two", "c", requests={"cpu": "2"}, ports=[8080]))
    return cache


def columns(nodes) -> dict[str, list]:
    return {
        "requested": nodes.requested("cpu").tolist(),
        "free": nodes.free("memory").tolist(),
        "non_zero": nodes.non_zero_requested("memory").tolist(),
        "floats": nodes.requested_floats("cpu").tolist(),
        "pods": nodes.pod_count.tolist(),
        "port": nodes.port_conflicts(("0.0.0.0", "TCP", 8080)).tolist(),
        "matching": nodes.pods_matching(None, EVERYTHING).tolist(),
        "elsewhere": nodes.pods_matching(frozenset({"other"}), EVERYTHING).tolist(),
        "infos": [sorted(info.pods) for info in nodes.infos()],
    }


@pytest.mark.parametrize("asked_before", [False, True], ids=["asked after", "asked before too"])
def test_changes_show_in_every_column(asked_before: bool) -> None:
    cache = cluster()
    rows = np.array([2, 1], dtype=np.intp)
    view = WhatIf(cache.nodes, rows)
    if asked_before:
        columns(view)
    gone, new = cache.pod("default/two") or cache.pod("two"), INFOS.of(make_pod("new", "b"))
    assert gone is not None
    view.remove(0, gone)
    view.add_batch(np.array([1]), PodBatch([new]), np.array([0]))
    before = columns(cache.nodes)
    found = columns(view)
    assert columns(cache.nodes) == before, "the snapshot stays as it is"
    cache.remove_pod(gone.uid)
    cache.add_pod(new.pod)
    assert found == columns(cache.nodes.select(rows))


def test_a_node_alone_goes_on_from_where_it_was() -> None:
    cache = cluster()
    view = WhatIf(cache.nodes, np.array([0, 2], dtype=np.intp))
    (gone,) = cache.nodes.info(2).pods.values()
    view.remove(1, gone)
    alone = view.alone(1)
    alone.add(0, INFOS.of(make_pod("new", "c", requests={"cpu": "3"})))
    assert alone.requested("cpu").tolist() == [3000]
    assert list(alone.info(0).pods) != list(view.info(1).pods)
    assert view.requested("cpu").tolist() == [0, 0]


def test_one_row_is_a_view_of_one_node() -> None:
    assert list(one_row(cluster().nodes, 1).names) == ["b"]


@pytest.mark.parametrize("asked_before", [False, True], ids=["asked after", "asked before too"])
def test_pods_leave_a_node_whose_sum_does_not_fit_into_64_bits(asked_before: bool) -> None:
    cache = cluster()
    pods = [make_pod(f"huge{n}", "b", requests={"memory": "7Ei"}) for n in range(2)]
    for pod in pods:
        cache.add_pod(pod)
    view = WhatIf(cache.nodes, np.array([2, 1], dtype=np.intp))
    if asked_before:
        columns(view)
    found = []
    for pod in pods:
        view.remove(1, INFOS.of(pod))
        found.append(int(view.free("memory")[1]))
    assert found == [8 * 2**30 - 2**30 - 7 * 2**60, 7 * 2**30]
