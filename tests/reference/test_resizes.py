"""Preemption for a pod whose resize is deferred, side by side with kube-scheduler."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from urllib3.exceptions import InsecureRequestWarning

from tests.reference.sides import Side
from tests.support.api import Api, Object
from tests.support.cluster import Cluster
from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate
from tests.support.waiting import eventually

GATES = "--feature-gates=InPlacePodVerticalScalingSchedulerPreemption=true"
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield an API server with the gate on."""
    folder = tmp_path_factory.mktemp("resizes")
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"), flags=(GATES,))
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def node(name: str) -> Object:
    resources = {"cpu": "4", "memory": "8Gi", "pods": "50"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": resources, "allocatable": resources},
    }


def pod(name: str, where: str, cpu: str, priority: str) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": where, "priorityClassName": priority, "containers": [container]},
    }


def leaving(cluster: Cluster) -> dict[str, list[str]]:
    """Return what the pods that are being deleted were told, by name."""
    return {
        one["metadata"]["name"]: [
            f"{condition['reason']}: {condition['message']}"
            for condition in one["status"].get("conditions", [])
            if condition["type"] == "DisruptionTarget"
        ]
        for one in cluster.api.list("Pod", cluster.namespace)
        if "deletionTimestamp" in one["metadata"]
    }


def observe(side: Side, plane: ControlPlane, folder: Path) -> tuple[dict[str, list[str]], Object]:
    """Run a scheduler; return who had to go, and the status of the pod that grows."""
    with warnings.catch_warnings(), Api(plane.access) as api:
        warnings.simplefilter("ignore", InsecureRequestWarning)
        cluster = Cluster(plane, api)
        try:
            for name, value in (("low", 1), ("high", 9)):
                meta = {"name": name}
                kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
                cluster.create({**kind, "metadata": meta, "value": value})
            for one in (
                node("a"),
                node("b"),
                pod("victim", "a", "2", "low"),
                pod("elsewhere", "b", "1", "low"),
                pod("grown", "a", "3", "high"),
            ):
                cluster.create(one)
            patch = {"status": {"conditions": [DEFERRED]}}
            cluster.api.patch("Pod", "grown", patch, cluster.namespace, subresource="status")
            running = side.start(plane, folder, [GATES, "--leader-elect=false"])
            try:
                gone = eventually(lambda: leaving(cluster), "a pod is preempted")
                return gone, cluster.api.get("Pod", "grown", cluster.namespace)["status"]
            finally:
                running.stop()
        finally:
            cluster.wipe()


def test_the_same_pod_has_to_go(
    plane: ControlPlane, sides: tuple[Side, Side], tmp_path: Path
) -> None:
    (theirs, their_status), (ours, our_status) = (observe(side, plane, tmp_path) for side in sides)
    assert ours == theirs
    assert list(theirs) == ["victim"]
    for status in (their_status, our_status):
        assert "nominatedNodeName" not in status
        assert [one["type"] for one in status["conditions"]] == ["PodResizePending"]
