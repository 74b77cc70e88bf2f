"""Pods with very long lists: attempts take linear time, and signals are still handled."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.live.hostile_pods import HOSTILE_PODS, HostilePod, make_pod
from mooring.api import KubeObject, Node, Pod, decode
from mooring.framework.decision import Outcome
from mooring.offline.memory_scheduler import MemoryScheduler, drive
from tests.support.api import Api
from tests.support.growth import assert_linear
from tests.support.local_up import Up

HOSTNAME = "kubernetes.io/hostname"
NODES = 5
FEW = 60


def _node(name: str, labels: dict[str, str], taints: int) -> Node:
    amounts = {"cpu": "100", "memory": "64Gi", "pods": "110"}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {HOSTNAME: name, **labels}},
            "spec": {
                "taints": [
                    {"key": f"key-{i}", "value": "x", "effect": "NoSchedule"} for i in range(taints)
                ]
            },
            "status": {"allocatable": amounts, "capacity": amounts},
        }
    )


def _pod(name: str, spec: dict[str, Any]) -> Pod:
    document = make_pod(name, {"schedulerName": "default-scheduler", **spec})
    document["metadata"]["uid"] = name
    pod: Pod = decode(document)
    return pod


def _scheduler(
    kind: HostilePod, count: int, *, labelled: bool = False, taints: int = 0
) -> MemoryScheduler:
    labels = {f"example.com/key-{i}": "x" for i in range(count)} if labelled else {}
    objects: list[KubeObject] = [_node(f"node-{i}", labels, taints) for i in range(NODES)]
    objects += [decode(one) for one in kind.objects(count)]
    scheduler = MemoryScheduler(objects)
    # Schedule a first pod, so that one-time work is not measured.
    drive(scheduler.decide(_pod("first", {})))
    return scheduler


def _attempt(
    kind: HostilePod, *, labelled: bool = False, tainted: bool = False
) -> Callable[[int], Callable[[], object]]:
    def prepare(count: int) -> Callable[[], object]:
        scheduler = _scheduler(kind, count, labelled=labelled, taints=count if tainted else 0)
        pod = _pod("hostile", kind.spec(count))
        scheduler.cluster.add(pod)
        return lambda: drive(scheduler.schedule_one(pod))

    return prepare


@pytest.mark.parametrize("kind", HOSTILE_PODS)
def test_an_attempt_takes_time_linear_in_a_pods_lists(kind: str) -> None:
    assert_linear(_attempt(HOSTILE_PODS[kind]), FEW)


@pytest.mark.parametrize("kind", ["hard spreading", "soft spreading", "node selector"])
def test_an_attempt_is_linear_where_nodes_have_the_labels(kind: str) -> None:
    assert_linear(_attempt(HOSTILE_PODS[kind], labelled=True), FEW)


def test_tolerations_of_many_taints() -> None:
    assert_linear(_attempt(HOSTILE_PODS["tolerations"], tainted=True), FEW)


def test_spreading_by_many_keys_over_selected_nodes() -> None:
    spread, selector = HOSTILE_PODS["soft spreading"], HOSTILE_PODS["node selector"]
    both = HostilePod(lambda count: {**spread.spec(count), **selector.spec(count)})
    assert_linear(_attempt(both, labelled=True), FEW)


def test_many_claims_share_the_volumes_of_a_class() -> None:
    def objects(count: int) -> list[dict[str, Any]]:
        amounts = {"storage": "1Gi"}
        made: list[dict[str, Any]] = [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": "local"},
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
            }
        ]
        for i in range(count):
            spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
            made.append(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": f"claim-{i}", "namespace": "default", "uid": f"c{i}"},
                    "spec": {**spec, "resources": {"requests": amounts}},
                }
            )
            made.append(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolume",
                    "metadata": {"name": f"volume-{i}"},
                    "spec": {**spec, "capacity": amounts, "nfs": {"server": "a", "path": "/"}},
                    "status": {"phase": "Available"},
                }
            )
        return made

    kind = HostilePod(HOSTILE_PODS["bound claims"].spec, lambda count: iter(objects(count)))
    assert_linear(_attempt(kind), FEW)


def test_a_hostile_pod_on_a_node_costs_the_next_pod_little() -> None:
    kind = HOSTILE_PODS["resources"]

    def prepare(count: int) -> Callable[[], object]:
        scheduler = _scheduler(kind, count)
        pod = _pod("hostile", {**kind.spec(count), "nodeName": "node-0"})
        scheduler.cluster.add(pod)
        scheduler.cluster.cache.validate()
        plain = _pod("plain", {})
        scheduler.cluster.add(plain)

        def schedule() -> None:
            decision = drive(scheduler.schedule_one(plain))
            assert decision.outcome is Outcome.SCHEDULED

        return schedule

    assert_linear(prepare, FEW)


def test_a_signal_is_obeyed_while_hostile_pods_are_tried(tmp_path: Path) -> None:
    up = Up(tmp_path / "state", tmp_path, Path("kubectl"))
    try:
        up.wait_ready()
        spec = HOSTILE_PODS["hard spreading"].spec(2000)
        with Api(up.access) as api:
            for i in range(5):
                api.create(make_pod(f"hostile-{i}", spec), "default")
        up.process.send(signal.SIGTERM)
        assert up.process.wait(30) == 0
    finally:
        up.process.stop(1)
