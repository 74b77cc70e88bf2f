"""Fake nodes, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

import pytest

from mooring.api import Lease, Node, Pod, parse_time
from mooring.kubelet.fake_nodes import FakeNodes
from mooring.kubelet.node_status import ready_condition
from tests.support.controllers import ManualClock, Object, Workbench, template

LOST = "node.kubernetes.io/unreachable"


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that tests advance."""
    return ManualClock()


def node(bench: Workbench, name: str) -> Node:
    found: Node | None = bench.store(Node).get(name)
    return found if found is not None else Node()


def ready(bench: Workbench, name: str) -> str:
    return ready_condition(node(bench, name))


def renewed(bench: Workbench, name: str) -> float:
    found = bench.store(Lease).get(name, "kube-node-lease")
    return parse_time(found.spec.renew_time) if found is not None else 0.0


def pod(name: str, node_name: str, **spec: object) -> Object:
    made = {**template()["spec"], "nodeName": node_name, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": made}


async def test_nodes_come_up_and_stay_up(workbench: Workbench, clock: ManualClock) -> None:
    await workbench.until(lambda: ready(workbench, "node-1") == "True", "a node that is ready")
    found = node(workbench, "node-1")
    assert found.metadata.labels["kubernetes.io/hostname"] == "node-1"
    assert found.status.allocatable["cpu"] == "8"
    kinds = [one.type for one in found.status.addresses]
    assert kinds == ["InternalIP", "Hostname"]
    await workbench.until(lambda: renewed(workbench, "node-1"), "a lease")
    beat = found.status.conditions[0].last_heartbeat_time
    for _ in range(31):
        clock.advance(10)
        await workbench.until(
            lambda: all(
                abs(renewed(workbench, one) - clock.now()) < 1 for one in ("node-0", "node-1")
            ),
            "the renewal",
        )
    await workbench.until(
        lambda: node(workbench, "node-1").status.conditions[0].last_heartbeat_time != beat,
        "a heartbeat",
    )
    assert ready(workbench, "node-1") == "True"


async def test_a_silent_kubelet_is_lost_and_found(workbench: Workbench, clock: ManualClock) -> None:
    await workbench.until(lambda: renewed(workbench, "node-0"), "a lease")
    await workbench.until(lambda: ready(workbench, "node-0") == "True", "a node that is ready")
    await workbench.fake_nodes.close()
    clock.advance(51)
    await workbench.until(lambda: ready(workbench, "node-0") == "Unknown", "the loss")
    await workbench.until(
        lambda: LOST in {one.key for one in node(workbench, "node-0").spec.taints}, "the taint"
    )
    again = FakeNodes(workbench.client, workbench.informers, clock)
    await again.start()
    try:
        await workbench.until(lambda: ready(workbench, "node-0") == "True", "the return")
        await workbench.until(lambda: not node(workbench, "node-0").spec.taints, "no taint")
    finally:
        await again.close()


async def test_a_node_of_the_users_is_served_where_it_asks_for_it(workbench: Workbench) -> None:
    for name, marks in (("mine", {}), ("fake", {"kwok.x-k8s.io/node": "fake"})):
        metadata = {"name": name, "namespace": "", "annotations": marks}
        status = {"capacity": {"cpu": "2", "memory": "1Gi", "pods": "5"}}
        made = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
        await workbench.create(Node, made)
        await workbench.create(Pod, pod(f"on-{name}", name))
    await workbench.until(lambda: len(workbench.pods()) == 1, "a pod that runs")
    assert node(workbench, "fake").status.allocatable["cpu"] == "2"
    assert [one.metadata.name for one in workbench.pods("Pending")] == ["on-mine"]
    assert ready(workbench, "mine") == "" and not renewed(workbench, "mine")


async def test_nothing_starts_on_a_node_that_is_not_ready(workbench: Workbench) -> None:
    await workbench.until(lambda: ready(workbench, "node-1") == "True", "a node that is ready")
    condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
    await workbench.patch_status(Node, "node-1", {"conditions": [condition]}, namespace="")
    await workbench.until(lambda: ready(workbench, "node-1") == "False", "the change")
    tolerations = [{"operator": "Exists"}]
    await workbench.create(Pod, pod("waits", "node-1", tolerations=tolerations))
    await workbench.create(Pod, pod("runs", "node-0"))
    await workbench.until(lambda: len(workbench.pods()) == 1, "the other pod")
    assert [one.metadata.name for one in workbench.pods("Pending")] == ["waits"]
    condition["status"] = "True"
    await workbench.patch_status(Node, "node-1", {"conditions": [condition]}, namespace="")
    await workbench.until(lambda: len(workbench.pods()) == 2, "both")


async def test_a_pod_has_its_grace_period(workbench: Workbench, clock: ManualClock) -> None:
    deaf = {"name": "main", "image": "image", "command": ["sleep", "3600"]}
    await workbench.create(
        Pod, pod("deaf", "node-0", containers=[deaf], terminationGracePeriodSeconds=20)
    )
    await workbench.create(Pod, pod("hears", "node-0", terminationGracePeriodSeconds=20))
    await workbench.until(lambda: len(workbench.pods()) == 2, "both pods")
    for name in ("deaf", "hears"):
        await workbench.delete(Pod, name)
    await workbench.until(lambda: not workbench.pods(), "both terminating")
    clock.advance(10)
    await workbench.until(lambda: workbench.get(Pod, "hears") is None, "the end of one")
    assert workbench.get(Pod, "deaf") is not None
    clock.advance(15)
    await workbench.until(lambda: workbench.get(Pod, "deaf") is None, "the end of the other")


async def test_readiness_gates_are_waited_for(workbench: Workbench) -> None:
    gates = [{"conditionType": "example.com/open"}]
    await workbench.create(Pod, pod("gated", "node-0", readinessGates=gates))
    await workbench.until(lambda: len(workbench.pods()) == 1, "the pod")

    def state(type: str) -> str:
        found = workbench.get(Pod, "gated")
        return "".join(one.status for one in found.status.conditions if one.type == type)

    assert (state("Ready"), state("ContainersReady")) == ("False", "True")
    opened = {"conditions": [{"type": "example.com/open", "status": "True"}]}
    await workbench.patch_status(Pod, "gated", opened)
    await workbench.until(lambda: state("Ready") == "True", "readiness")
