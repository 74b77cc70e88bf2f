"""Whether the free resources of the whole cluster cover what a group needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.api import POD_GROUP_LABEL, Node, Pod, PodGroup, decode_as
from mooring.contrib.coscheduling.room import describe_gap, needs, resource_gap
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler


def group(minimum: int = 2, **resources: Any) -> PodGroup:
    raw = {
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"minMember": minimum, "minResources": resources},
    }
    return decode_as(raw, PodGroup)


def gap(wanted: PodGroup, nodes: Sequence[Node], pods: Sequence[Pod] = ()) -> dict[str, int]:
    needed = needs(wanted)
    assert needed is not None
    return resource_gap(MemoryScheduler([*nodes, *pods]).cache.nodes, wanted, needed)


NODES = [make_node("a", cpu=4, memory="8Gi", pods=10), make_node("b", cpu=2, memory="8Gi", pods=10)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(group(cpu="6"), {}, id="as much as there is"),
        pytest.param(group(cpu="6100m"), {"cpu": 100}, id="a little more"),
        pytest.param(group(cpu="5", memory="17Gi"), {"memory": 2**30}, id="one of two resources"),
        pytest.param(group(21), {"pods": 1}, id="room for the pods themselves"),
        pytest.param(group(pods="900"), {}, id="pods in the list are replaced by the minimum"),
        pytest.param(group(cpu="0.0001"), {}, id="less than a thousandth is rounded up"),
        pytest.param(
            group(**{"example.com/gpu": "1"}), {"example.com/gpu": 1}, id="a device nobody has"
        ),
        pytest.param(group(storage="1Gi"), {"storage": 2**30}, id="a resource nobody counts"),
        pytest.param(group(storage="0"), {}, id="nothing of it"),
    ],
)
def test_the_gap(wanted: PodGroup, expected: dict[str, int]) -> None:
    assert gap(wanted, NODES) == expected


def test_running_members_count_as_free_and_others_do_not() -> None:
    mine = make_pod("m", node="a", cpu="3", labels={POD_GROUP_LABEL: "g"})
    other = make_pod("o", node="b", cpu="1")
    namesake = make_pod("n", namespace="other", node="b", cpu="1", labels={POD_GROUP_LABEL: "g"})
    assert gap(group(cpu="6"), NODES, [mine]) == {}
    assert gap(group(cpu="6"), NODES, [mine, other]) == {"cpu": 1000}
    assert gap(group(cpu="6"), NODES, [namesake]) == {"cpu": 1000}


def test_an_overcommitted_node_takes_nothing_away_from_the_nodes_before_it() -> None:
    over = make_pod("o", node="b", cpu="5")
    assert gap(group(cpu="4"), NODES, [over]) == {}
    assert gap(group(cpu="4"), NODES[::-1], [over]) == {"cpu": 3000}


def test_a_device_that_a_node_does_not_offer_is_not_lacking_there() -> None:
    user = make_pod("u", node="b", requests={"example.com/gpu": 1})
    with_gpu = make_node("c", resources={"example.com/gpu": 1})
    wanted = group(**{"example.com/gpu": "1"})
    assert gap(wanted, [NODES[1], with_gpu], [user]) == {}


def test_needs_are_in_the_units_of_the_scheduler() -> None:
    assert needs(group(3, cpu="1500m", memory="1Ki")) == {"cpu": 1500, "memory": 1024, "pods": 3}


def test_an_amount_that_is_no_quantity_cannot_be_read() -> None:
    assert needs(group(cpu="lots")) is None


def test_a_gap_is_described_in_order() -> None:
    text = describe_gap({"pods": 2, "cpu": 1500})
    assert text == "resource gap: map[cpu:1500m pods:2]"
