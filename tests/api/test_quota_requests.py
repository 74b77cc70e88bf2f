"""The sums that elastic quotas count."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod, ResourceList, decode_as, value
from mooring.api.quantity import Quantity
from mooring.api.quota_requests import counted_amounts, sum_of_containers


def containers(*amounts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "c", "resources": {"requests": one}} for one in amounts]


POD = decode_as(
    {
        "spec": {
            "containers": containers({"cpu": "1", "pods": 1}, {"cpu": "2"}),
            "initContainers": [
                *containers({"cpu": "2", "memory": "7", "pods": 9}),
                {**containers({"cpu": "5"})[0], "restartPolicy": "Always"},
            ],
            "overhead": {"memory": "1"},
        }
    },
    Pod,
)


def test_containers_or_a_larger_init_container_and_overhead() -> None:
    def whole(resources: ResourceList) -> dict[str, int]:
        return {name: value(text) for name, text in resources.items()}

    def exact(resources: ResourceList) -> dict[str, Quantity]:
        return {name: Quantity(text) for name, text in resources.items()}

    assert sum_of_containers(POD, whole) == {"cpu": 5, "memory": 8, "pods": 1}
    found = sum_of_containers(POD, exact)
    assert {name: str(one) for name, one in found.items()} == {
        "cpu": "5",
        "memory": "8",
        "pods": "1",
    }


def test_only_resources_that_nodes_count_remain() -> None:
    amounts = {"cpu": 1, "pods": 1, "storage": 2, "a/b": 3}
    assert counted_amounts(amounts) == {"cpu": 1, "a/b": 3}
