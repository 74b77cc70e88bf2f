"""What a NodeResourceTopology says in numbers, and what is wrong with it in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import NodeResourceTopology, decode_as
from mooring.contrib.node_resource_topology.cells import (
    TopologyManager,
    cell_id,
    effective_request,
    is_affine,
    is_host_level,
    read_cells,
    requests_devices,
    topology_manager,
)
from mooring.testing import make_pod
from tests.contrib.node_resource_topology.generated import GPU, topology

NANOS = 10**9


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("node-0", 0),
        ("node-64", 64),
        ("node-65", None),
        ("node--1", None),
        ("node-x", None),
        ("cell-0", None),
        ("0", None),
    ],
)
def test_cell_id(name: str, number: int | None) -> None:
    assert cell_id(name) == number


def manager(policies: tuple[str, ...] = (), **attributes: str) -> TopologyManager:
    said = [{"name": name, "value": value} for name, value in attributes.items()]
    raw = {"topologyPolicies": list(policies), "attributes": said, "zones": []}
    return topology_manager(decode_as(raw, NodeResourceTopology))


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(manager(), TopologyManager("none", "container", 8), id="the defaults"),
        pytest.param(
            manager(("SingleNUMANodePodLevel",)),
            TopologyManager("single-numa-node", "pod", 8),
            id="the old field",
        ),
        pytest.param(
            manager(("RestrictedPodLevel",), topologyManagerPolicy="best-effort"),
            TopologyManager("best-effort", "pod", 8),
            id="attributes go before the old field",
        ),
        pytest.param(manager(("Strange",)), TopologyManager(), id="a policy that is unknown"),
        pytest.param(
            manager(topologyManagerPolicy="x", topologyManagerScope="y"),
            TopologyManager(),
            id="values that are unknown",
        ),
        pytest.param(
            manager(topologyManagerMaxNUMANodes="16"), TopologyManager(max_cells=16), id="16 cells"
        ),
        pytest.param(
            manager(topologyManagerMaxNUMANodes="5000"),
            TopologyManager(max_cells=1024),
            id="at most 1024",
        ),
        pytest.param(manager(topologyManagerMaxNUMANodes="1"), TopologyManager(), id="too few"),
        pytest.param(manager(topologyManagerMaxNUMANodes="many"), TopologyManager(), id="text"),
    ],
)
def test_topology_manager(found: TopologyManager, wanted: TopologyManager) -> None:
    assert found == wanted


def test_cells_are_the_zones_of_type_node_with_a_good_name() -> None:
    found = read_cells(topology("n", [{"cpu": "1500m"}, {"cpu": 2}], ids=[0, 65]))
    assert [(cell.id, cell.available) for cell in found.cells] == [
        (0, {"cpu": 1500 * NANOS // 1000})
    ]
    assert found.problems == ()


@pytest.mark.parametrize(
    ("amount", "problem", "counted"),
    [
        pytest.param("many", "quantity 'many' is malformed", 0, id="text"),
        pytest.param("-2", "available is negative: -2", -2 * NANOS, id="negative"),
        pytest.param(None, "available is missing", 0, id="missing"),
        pytest.param("1e500", "out of range", 0, id="huge"),
    ],
)
def test_bad_amounts(amount: Any, problem: str, counted: int) -> None:
    found = read_cells(topology("n", [{"cpu": amount}]))
    (said,) = found.problems
    assert said.startswith("zone node-0, resource cpu: ")
    assert problem in said
    assert found.cells[0].available == {"cpu": counted}


@given(st.dictionaries(st.text(max_size=9), st.none() | st.integers() | st.floats() | st.text()))
def test_no_amount_crashes(cell: dict[str, Any]) -> None:
    found = read_cells(topology("n", [cell]))
    assert set(found.cells[0].available) == set(cell)


def test_the_effective_request_of_a_pod() -> None:
    def container(**requests: str) -> dict[str, Any]:
        return {"name": f"c{len(requests)}", "image": "a", "resources": {"requests": requests}}

    pod = make_pod(
        "p",
        spec={
            "containers": [container(cpu="1", memory="1"), container(cpu="2")],
            "initContainers": [container(cpu="1", memory="4"), container(storage="1")],
            "overhead": {"cpu": "500m"},
        },
    )
    assert effective_request(pod) == {
        "cpu": 3500 * NANOS // 1000,
        "memory": 4 * NANOS,
        "storage": NANOS,
    }


def test_which_resources_come_from_cells() -> None:
    names = ("cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "storage", GPU, "pods")
    assert [is_affine(name) for name in names] == [True] * 3 + [False] * 4
    assert [is_host_level(name) for name in names] == [False] * 3 + [True] * 3 + [False]


def test_devices_are_resources_that_are_not_kubernetes_own() -> None:
    assert requests_devices(make_pod("p", requests={GPU: 1}))
    assert not requests_devices(make_pod("p", cpu="1"))
