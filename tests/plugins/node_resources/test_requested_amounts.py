from __future__ import annotations

import pytest

from mooring.plugins.node_resources.requested_amounts import PodRequests
from tests.plugins.cluster import Cluster, make_pod

MIB = 1024 * 1024
RESIZED = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}


@pytest.mark.parametrize(
    ("pod", "for_filter", "for_fit_score", "for_balance"),
    [
        pytest.param(make_pod(), (0, 0), (100, 200 * MIB), (0, 0), id="a pod that asks nothing"),
        pytest.param(
            make_pod(requests={"cpu": "1"}),
            (1000, 0),
            (1000, 200 * MIB),
            (1000, 0),
            id="defaults fill in what is missing, in the fit score only",
        ),
        pytest.param(
            make_pod(requests={"cpu": "1"}, spec={"resources": {"requests": {"cpu": "2"}}}),
            (2000, 0),
            (1000, 200 * MIB),
            (2000, 0),
            id="pod-level requests do not count in the fit score",
        ),
        pytest.param(
            make_pod(requests={"cpu": "1", "memory": "1Mi"}, status=RESIZED),
            (1000, MIB),
            (1000, MIB),
            (3000, MIB),
            id="the status counts in the balance only",
        ),
    ],
)
def test_each_plugin_counts_in_its_own_way(pod, for_filter, for_fit_score, for_balance) -> None:
    requests = PodRequests(Cluster().handle)

    def amounts(found: dict[str, int]) -> tuple[int, int]:
        return found.get("cpu", 0), found.get("memory", 0)

    assert amounts(requests.for_filter(pod)) == for_filter
    assert amounts(requests.for_fit_score(pod)) == for_fit_score
    assert amounts(requests.for_balance(pod)) == for_balance
