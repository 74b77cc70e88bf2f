from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.state import CycleState
from mooring.plugins.args import NodeResourcesFitArgs
from mooring.plugins.node_resources import Fit
from tests.plugins.cluster import Cluster, make_node, make_pod

GPU = "nvidia.com/gpu"
LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
RISING = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
BENT = [
    {"utilization": 0, "score": 7},
    {"utilization": 30, "score": 2},
    {"utilization": 90, "score": 9},
]


def args(kind: str, *resources: tuple[str, int], shape: list | None = None) -> NodeResourcesFitArgs:
    strategy: dict[str, Any] = {
        "type": kind,
        "resources": [{"name": name, "weight": weight} for name, weight in resources],
    }
    if kind == RATIO:
        strategy["requestedToCapacityRatio"] = {"shape": shape or RISING}
    parsed = msgspec.convert({"scoringStrategy": strategy}, NodeResourcesFitArgs)
    return parsed.with_defaults(FeatureGates())


def pod(**requests: str):
    return make_pod(
        requests={name.replace("gpu", GPU): amount for name, amount in requests.items()}
    )


NODES = [
    make_node("big", allocatable={"cpu": "10", "memory": "10Gi"}),
    make_node("gpu", allocatable={"cpu": "4", "memory": "10Gi", GPU: "8"}),
    make_node("bare", allocatable={"cpu": "", "memory": "4Gi"}),
    make_node("none", allocatable={"cpu": "", "memory": ""}),
]
PODS = [
    make_pod("a", "big", requests={"cpu": "3", "memory": "5Gi"}),
    make_pod("b", "gpu", requests={"cpu": "3", "memory": "2Gi", GPU: "2"}),
    make_pod("c", "bare", requests={"memory": "1Gi"}),
]
BOTH = (("cpu", 1), ("memory", 1))


@pytest.mark.parametrize(
    ("given_args", "incoming", "expected"),
    [
        # big: cpu 6/10, memory 4/10; gpu: cpu 0, memory 7/10; bare: memory 2/4 left
        pytest.param(
            args(LEAST), pod(cpu="1", memory="1Gi"), [50, 35, 50, 0], id="least, by default"
        ),
        pytest.param(
            args(LEAST, ("cpu", 3), ("memory", 1)),
            pod(cpu="1", memory="1Gi"),
            [55, 17, 50, 0],
            id="least, with weights",
        ),
        # A pod without requests counts 100m and 200Mi.
        pytest.param(args(LEAST), pod(), [58, 50, 70, 0], id="least, a pod that asks for nothing"),
        pytest.param(
            args(LEAST),
            pod(cpu="2", memory="1Gi"),
            [45, 35, 50, 0],
            id="least, beyond capacity is 0",
        ),
        pytest.param(
            args(LEAST, (GPU, 5), ("cpu", 1)),
            pod(cpu="1", gpu="2"),
            [60, 41, 0, 0],
            id="least, an extended resource counts where the node has it",
        ),
        pytest.param(
            args(LEAST, (GPU, 5), ("cpu", 1)),
            pod(cpu="1"),
            [60, 0, 0, 0],
            id="least, an extended resource that is not asked for is left out",
        ),
        pytest.param(
            args(LEAST, ("pods", 1), ("nonsense", 1), ("cpu", 1)),
            pod(cpu="1"),
            [60, 0, 0, 0],
            id="least, resources that are not counted are left out",
        ),
        pytest.param(
            args(LEAST, ("nonsense", 1)), pod(), [0, 0, 0, 0], id="least, no resource is left"
        ),
        pytest.param(
            args(MOST, *BOTH), pod(cpu="1", memory="1Gi"), [50, 65, 50, 0], id="most allocated"
        ),
        pytest.param(
            args(MOST, *BOTH),
            pod(cpu="2", memory="1Gi"),
            [55, 65, 50, 0],
            id="most, beyond capacity is 100",
        ),
        pytest.param(
            args(RATIO, *BOTH), pod(cpu="1", memory="1Gi"), [50, 65, 50, 0], id="ratio, rising"
        ),
        # big: 40% -> 31, 60% -> 55; gpu: 100% -> 90, 30% -> 20; bare: 50% -> 43
        pytest.param(
            args(RATIO, *BOTH, shape=BENT),
            pod(cpu="1", memory="1Gi"),
            [43, 55, 43, 0],
            id="ratio, a bent shape",
        ),
        # A resource rated 0 loses its weight.
        pytest.param(
            args(RATIO, ("cpu", 1), ("ephemeral-storage", 1), shape=RISING),
            pod(cpu="1"),
            [40, 100, 0, 0],
            id="ratio, a rating of 0 has no weight",
        ),
        # big: (31 + 44 * 2) / 3; gpu: (90 + 35 * 2) / 3; bare: memory alone
        pytest.param(
            args(RATIO, ("cpu", 1), ("memory", 2), shape=BENT),
            pod(cpu="1"),
            [40, 53, 22, 0],
            id="ratio, weights and rounding",
        ),
    ],
)
def test_scores(given_args: NodeResourcesFitArgs, incoming, expected: list[int]) -> None:
    cluster = Cluster(NODES, PODS)
    found = cluster.score(cluster.make(Fit, given_args), incoming)
    assert list(found.values()) == expected


def test_pod_level_requests_of_the_incoming_pod_do_not_count() -> None:
    cluster = Cluster([make_node("n", allocatable={"cpu": "10", "memory": "10Gi"})])
    plugin = cluster.make(Fit)
    spec = {"resources": {"requests": {"cpu": "5", "memory": "5Gi"}}}
    assert cluster.score(plugin, make_pod(spec=spec)) == cluster.score(plugin, make_pod())


def test_score_without_pre_score_works_the_shares_out_itself() -> None:
    cluster = Cluster(NODES, PODS)
    plugin, incoming = cluster.make(Fit), pod(cpu="1")
    found = cluster.score_only(plugin, incoming, CycleState())
    assert found == cluster.score(plugin, incoming)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ConfigError, match="scoring strategy Fastest is not supported"):
        Cluster().make(Fit, args("Fastest"))


AMOUNTS = st.one_of(
    st.integers(0, 20), st.integers(0, 2**40), st.integers(2**45, 2**47), st.integers(2**60, 2**61)
)


@given(
    st.sampled_from([LEAST, MOST, RATIO]),
    st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=1, max_size=5),
    st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
    st.tuples(AMOUNTS, AMOUNTS, AMOUNTS),
    st.tuples(*[st.integers(1, 100)] * 3),
)
def test_all_nodes_at_once_score_as_one_by_one(kind, offered, taken, asked, weights) -> None:
    def requests(amounts: tuple[int, ...]) -> dict[str, str]:
        return {"cpu": f"{amounts[0]}m", "memory": str(amounts[1]), GPU: str(amounts[2])}

    nodes = [make_node(f"n{i}", allocatable=requests(each)) for i, each in enumerate(offered)]
    cluster = Cluster(nodes, [make_pod("taken", "n0", requests=requests(taken))])
    names = ("cpu", "memory", GPU)
    plugin = cluster.make(Fit, args(kind, *zip(names, weights, strict=True), shape=BENT))
    cluster.score(plugin, make_pod(requests=requests(asked)))
