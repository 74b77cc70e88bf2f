from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.features import FeatureGates
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import NodeResourcesBalancedAllocationArgs
from mooring.plugins.node_resources import BalancedAllocation
from tests.plugins.cluster import Cluster, make_node, make_pod

GPU, DISK = "nvidia.com/gpu", "ephemeral-storage"


def args(*names: str) -> NodeResourcesBalancedAllocationArgs:
    resources = [{"name": name, "weight": 1} for name in names]
    parsed = msgspec.convert({"resources": resources}, NodeResourcesBalancedAllocationArgs)
    return parsed.with_defaults(FeatureGates())


def pod(**requests: str):
    return make_pod(
        requests={name.replace("gpu", GPU): amount for name, amount in requests.items()}
    )


CLUSTER = Cluster(
    [
        make_node("even", allocatable={"cpu": "10", "memory": "10Gi", GPU: "10"}),
        make_node("cpu-heavy", allocatable={"cpu": "10", "memory": "10Gi"}),
        make_node("no-cpu", allocatable={"cpu": "", "memory": "10Gi", GPU: "10"}),
        make_node("nothing", allocatable={"cpu": "", "memory": ""}),
    ],
    [
        make_pod("a", "even", requests={"cpu": "2", "memory": "2Gi", GPU: "2"}),
        make_pod("b", "cpu-heavy", requests={"cpu": "8", "memory": "2Gi"}),
        make_pod("c", "no-cpu", requests={"memory": "2Gi", GPU: "6"}),
    ],
)


@pytest.mark.parametrize(
    ("given_args", "incoming", "expected"),
    [
        # even: 0.3/0.3 after 0.2/0.2: 100 - 100; cpu-heavy: 0.9/0.3 after 0.8/0.2: 70 - 70
        pytest.param(
            args(), pod(cpu="1", memory="1Gi"), [75, 75, 75, 75], id="equal parts change nothing"
        ),
        # even: 0.2/0.7 -> 75 - 100; cpu-heavy: 0.8/0.7 -> 95 - 70
        pytest.param(args(), pod(memory="5Gi"), [62, 87, 75, 75], id="evening out is preferred"),
        # cpu-heavy: fractions are capped at 1: 1/0.2 -> 60 - 70
        pytest.param(args(), pod(cpu="5"), [62, 70, 75, 75], id="fractions are capped at 1"),
        # even: 0.2, 0.2, 0.7: std .2357 -> 76 - 100; no-cpu: 0.2/1.0 -> 60 - 80
        pytest.param(
            args("cpu", "memory", GPU),
            pod(gpu="5"),
            [63, 75, 65, 75],
            id="three resources by their standard deviation",
        ),
        pytest.param(
            args("cpu", "memory", GPU),
            pod(memory="5Gi"),
            [62, 87, 75, 75],
            id="an extended resource that is not asked for is left out",
        ),
        pytest.param(args("cpu"), pod(cpu="5"), [75, 75, 75, 75], id="one resource is always even"),
    ],
)
def test_scores(given_args, incoming, expected: list[int]) -> None:
    found = CLUSTER.score(CLUSTER.make(BalancedAllocation, given_args), incoming)
    assert list(found.values()) == expected


@pytest.mark.parametrize(
    ("given_args", "incoming"),
    [
        pytest.param(args(), pod(), id="a pod that asks for nothing"),
        pytest.param(args(), pod(gpu="1"), id="a pod that asks for none of the resources"),
    ],
)
def test_a_pod_without_relevant_requests_is_not_scored(given_args, incoming) -> None:
    plugin = CLUSTER.make(BalancedAllocation, given_args)
    assert CLUSTER.score(plugin, incoming) == Status.skip()
    assert set(CLUSTER.score_only(plugin, incoming, CycleState()).values()) == {0}


def test_pod_level_requests_count() -> None:
    plugin = CLUSTER.make(BalancedAllocation)
    pod_level = make_pod(spec={"resources": {"requests": {"memory": "5Gi"}}})
    assert CLUSTER.score(plugin, pod_level) == CLUSTER.score(plugin, pod(memory="5Gi"))


def test_signature_sees_requests() -> None:
    sign = CLUSTER.make(BalancedAllocation).sign_pod
    assert sign(pod(cpu="1")) == sign(pod(cpu="1000m"))
    assert sign(pod(cpu="1")) != sign(pod(cpu="2"))


AMOUNTS = st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 2**40), st.integers(0, 2**61))
FOUR = st.tuples(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
NAMES = ("cpu", "memory", GPU, DISK)


@given(
    st.lists(FOUR, min_size=1, max_size=5),
    FOUR,
    FOUR,
    st.lists(st.sampled_from(NAMES), unique=True),
)
def test_all_nodes_at_once_score_as_one_by_one(offered, taken, asked, names: list[str]) -> None:
    def requests(amounts: tuple[int, ...]) -> dict[str, Any]:
        found = dict(zip(NAMES, map(str, amounts), strict=True))
        return {**found, "cpu": f"{amounts[0]}m"}

    nodes = [make_node(f"n{i}", allocatable=requests(each)) for i, each in enumerate(offered)]
    cluster = Cluster(nodes, [make_pod("taken", "n0", requests=requests(taken))])
    plugin = cluster.make(BalancedAllocation, args(*names))
    scores = cluster.score(plugin, make_pod(requests=requests(asked)))
    if isinstance(scores, dict):
        assert all(50 <= score <= 100 for score in scores.values())
