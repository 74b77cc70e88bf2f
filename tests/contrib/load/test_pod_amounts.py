"""What pods request and may use: init containers count if they need more; sidecars too."""

from __future__ import annotations

from typing import Any

from mooring.contrib.load.pod_amounts import PodAmounts, pod_limits_of, pod_requests_of
from mooring.testing import make_pod


def container(name: str, requests: dict[str, Any], limits: dict[str, Any] | None = None) -> Any:
    resources = {"requests": requests, "limits": limits or {}}
    return {"name": name, "image": "a", "resources": resources}


def test_the_sum_of_containers_or_the_largest_init_container_plus_overhead() -> None:
    pod = make_pod(
        "p",
        spec={
            "containers": [
                container("a", {"cpu": "1", "memory": "1Mi"}, {"cpu": "2"}),
                container("b", {"cpu": "500m"}),
            ],
            "initContainers": [
                container("i", {"cpu": "1", "memory": "4Mi"}),
                container("s", {"cpu": "3"}) | {"restartPolicy": "Always"},
            ],
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        },
    )
    mebi = 2**20
    assert pod_requests_of(pod) == PodAmounts(3100, 5 * mebi)
    assert pod_limits_of(pod) == PodAmounts(2100, mebi)


def test_the_larger_of_two_by_resource() -> None:
    assert PodAmounts(1, 5).at_least(PodAmounts(3, 2)) == PodAmounts(3, 5)
