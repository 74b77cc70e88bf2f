"""Which cells have room for a pod, as the kubelet of one node decides."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.contrib.node_resource_topology.aligning import (
    CANNOT_ALIGN_CONTAINER,
    CANNOT_ALIGN_POD,
    FITS,
    align,
    find_cell,
    needs_of,
    status_of,
)
from mooring.contrib.node_resource_topology.cells import read_cells
from mooring.testing import make_pod
from tests.contrib.node_resource_topology.generated import GPU, topology

OFFERED = {"cpu", "memory", GPU, "ephemeral-storage"}


def pod(*containers: dict[str, Any], guaranteed: bool = True) -> Any:
    entries = [
        {
            "name": f"c{index}",
            "image": "a",
            "resources": {"requests": one, "limits": one if guaranteed else {}},
        }
        for index, one in enumerate(containers)
    ]
    return make_pod("p", spec={"containers": entries})


def cell(cpu: Any, **more: Any) -> dict[str, Any]:
    return {"cpu": cpu, "memory": "8Gi", **more}


@pytest.mark.parametrize(
    ("request_", "cells", "found"),
    [
        pytest.param({"cpu": "3"}, [cell(2), cell(4)], 1, id="the second cell"),
        pytest.param({"cpu": "2"}, [cell(2), cell(4)], 0, id="the lowest that has room"),
        pytest.param({"cpu": "5"}, [cell(2), cell(4)], None, id="none has room"),
        pytest.param({"cpu": "0"}, [cell(0)], 0, id="nothing is requested"),
        pytest.param({GPU: "1"}, [cell(1)], 0, id="a device of the node as a whole"),
        pytest.param({GPU: "1"}, [cell(1), cell(1, **{GPU: 1})], 1, id="a device of a cell"),
        pytest.param({"pods": "1"}, [cell(1)], None, id="a resource the node does not offer"),
        pytest.param({"cpu": "1"}, [], None, id="a node without cells"),
        pytest.param({"ephemeral-storage": "1"}, [], 0, id="storage needs no cell"),
        pytest.param(
            {"cpu": "2", GPU: "1"}, [cell(4), cell(1, **{GPU: 1})], None, id="not in one cell"
        ),
    ],
)
def test_the_cell_for_a_request(
    request_: dict[str, str], cells: list[dict[str, Any]], found: int | None
) -> None:
    needs = needs_of(pod({"cpu": "1", "memory": "1Gi"}))
    asked = needs_of(pod(request_)).containers[0]
    assert find_cell(needs, asked, read_cells(topology("n", cells)).cells, OFFERED) == found


def test_containers_are_placed_one_after_another() -> None:
    node = read_cells(topology("n", [cell(4), cell(4)], scope="container"))
    two = {"cpu": "3", "memory": "1Gi"}
    assert align(needs_of(pod(two, two)), node, OFFERED) == FITS
    needs = needs_of(pod(two, two, two))
    assert status_of(needs, align(needs, node, OFFERED)) == CANNOT_ALIGN_CONTAINER


def test_the_whole_pod_must_fit_into_one_cell_with_pod_scope() -> None:
    node = read_cells(topology("n", [cell(4), cell(4)]))
    needs = needs_of(pod({"cpu": "3", "memory": "1Gi"}, {"cpu": "3", "memory": "1Gi"}))
    assert status_of(needs, align(needs, node, OFFERED)) == CANNOT_ALIGN_POD


def test_pods_that_are_not_guaranteed_need_devices_only() -> None:
    node = read_cells(topology("n", [cell(1, **{GPU: 1})]))
    assert align(needs_of(pod({"cpu": "9"}, guaranteed=False)), node, OFFERED) == FITS
    needs = needs_of(pod({"cpu": "9", GPU: "2"}, guaranteed=False))
    assert align(needs, node, OFFERED) != FITS


def test_pods_of_one_template_have_one_key() -> None:
    asked = {"cpu": "1", "memory": "1Gi"}
    assert needs_of(pod(asked)).key == needs_of(pod(asked)).key
    assert needs_of(pod(asked)).key != needs_of(pod(asked, guaranteed=False)).key
