"""The columns of LowRiskOverCommitment follow pods, nodes and measurements."""

from __future__ import annotations

import sys

from msgspec.structs import replace

from mooring.contrib.low_risk_over_commitment.node_risks import NodeRisks
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.load.measured import measurements

FOUND = measurements({"a": (50, 5, 50, 5)})


def test_requests_and_limits_are_summed_by_node() -> None:
    scheduler = MemoryScheduler([make_node("a", cpu=4), make_node("b", cpu=4)])
    risks, nodes = NodeRisks(1.0), scheduler.cache.nodes
    risks.of(FOUND, nodes)
    assert risks.measured.tolist() == [True, False]
    version = risks.version
    scheduler.cluster.add(make_pod("p", cpu="1", memory="1Gi", node="b"))
    risks.of(FOUND, nodes)
    assert risks.requests[0].tolist() == [0, 1000]
    assert risks.limits[1].tolist() == [0, 2**30]
    assert (risks.version, risks.log[-1]) == (version, 1)


def test_new_measurements_and_nodes_make_all_rows_again() -> None:
    scheduler = MemoryScheduler([make_node("a", cpu=4)])
    risks, nodes = NodeRisks(1.0), scheduler.cache.nodes
    versions = [risks.of(FOUND, nodes).version]
    versions.append(risks.of(FOUND, nodes).version)
    versions.append(risks.of(measurements({"a": (1, 1, 1, 1)}), nodes).version)
    scheduler.cluster.add(make_node("b"))
    versions.append(risks.of(FOUND, nodes).version)
    assert versions == [1, 1, 2, 3]
    assert len(risks.measured) == 2


def test_the_likelier_the_load_exceeds_the_requests_the_higher_the_risk() -> None:
    scheduler = MemoryScheduler([make_node("a", cpu=4, memory="4Gi")])
    risks, nodes = NodeRisks(1.0), scheduler.cache.nodes
    found = []
    for index in range(4):
        limits = {"requests": {"cpu": "900m"}, "limits": {"cpu": "8"}}
        spec = {"containers": [{"name": "c", "image": "a", "resources": limits}]}
        scheduler.cluster.add(make_pod(f"p{index}", spec=spec, node="a"))
        found.append(float(risks.of(FOUND, nodes).by_load[0, 0]))
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.99
    assert found[-1] < 0.01


def test_a_pod_that_is_gone_is_forgotten() -> None:
    scheduler = MemoryScheduler([make_node("a", cpu=4)])
    risks, nodes = NodeRisks(1.0), scheduler.cache.nodes
    pod = make_pod("p", cpu="1", node="a")
    scheduler.cluster.add(pod)
    risks.of(FOUND, nodes)
    scheduler.cluster.delete(pod)
    scheduler.cluster.add(make_pod("q", cpu="2", node="a"))
    assert risks.of(FOUND, nodes).requests[0].tolist() == [2000]
    spec = pod.spec
    held = sys.getrefcount(spec)
    del risks
    left = sys.getrefcount(spec)
    assert held == left


def test_a_pod_that_was_resized_counts_with_its_new_size() -> None:
    scheduler = MemoryScheduler([make_node("a", cpu=4)])
    risks, nodes = NodeRisks(1.0), scheduler.cache.nodes
    pod = make_pod("p", cpu="1", node="a")
    scheduler.cluster.add(pod)
    risks.of(FOUND, nodes)
    scheduler.cluster.add(replace(pod, spec=make_pod("p", cpu="2", node="a").spec))
    assert risks.of(FOUND, nodes).requests[0].tolist() == [2000]
