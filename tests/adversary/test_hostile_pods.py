"""Pods with very long lists: attempts take linear time, and signals are still handled."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.live.hostile_pods import HOSTILE_PODS, HostilePod, make_pod
from mooring.api import KubeObject, Node, Pod, decode
from mooring.framework.decision import Outcome
from mooring.plugins.inter_pod_affinity.terms import OwnTerm
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.support.api import Api
from tests.support.growth import assert_linear, count_calls
from tests.support.local_up import Up
from tests.support.waiting import PATIENCE

HOSTNAME = "kubernetes.io/hostname"
NODES = 5
FEW = 60


def _node(name: str, labels: dict[str, str], taints: int) -> Node:
    amounts = {"cpu": "4", "memory": "64Gi", "pods": "110"}
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
    return _admitted(make_pod(name, {"schedulerName": "default-scheduler", **spec}))


def _admitted(document: dict[str, Any]) -> Pod:
    """Return a pod with what the API server adds to it."""
    document["metadata"]["uid"] = document["metadata"]["name"]
    if "priorityClassName" in document["spec"]:
        document["spec"]["priority"] = 100
    pod: Pod = decode(document)
    return pod


def _scheduler(
    kind: HostilePod, count: int, *, labelled: bool = False, taints: int = 0
) -> MemoryScheduler:
    labels = {f"example.com/key-{i}": "x" for i in range(count)} if labelled else {}
    names = [f"node-{i}" for i in range(NODES)]
    objects: list[KubeObject] = [_node(name, labels, taints) for name in names]
    objects += [decode(one) for one in kind.objects(count)]
    objects += [_admitted(one) for one in kind.running(count, names)]
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


#: Most calls per entry of the list, where a loop over the entries is all that an attempt needs.
SHORT_LOOPS = {
    "node selector": 1,
    "tolerations": 2,
    "containers too large": 8,
}


@pytest.mark.parametrize("kind", SHORT_LOOPS)
def test_an_attempt_makes_few_calls_per_entry(kind: str) -> None:
    prepare = _attempt(HOSTILE_PODS[kind])
    few, many = (count_calls(prepare(count)) for count in (FEW, 4 * FEW))
    assert (many - few) / (3 * FEW) <= SHORT_LOOPS[kind]


def test_the_disks_of_two_pods_are_compared_in_linear_time() -> None:
    def disks(count: int, owner: str) -> dict[str, Any]:
        names = [("shared", True), *((f"{owner}-{i}", False) for i in range(count))]
        return {
            "volumes": [
                {"name": name, "gcePersistentDisk": {"pdName": name, "readOnly": read_only}}
                for name, read_only in names
            ]
        }

    def running(count: int, nodes: Sequence[str]) -> Iterator[dict[str, Any]]:
        yield make_pod("running", {"nodeName": nodes[0], **disks(count, "running")})

    kind = HostilePod(lambda count: disks(count, "pending"), running=running)
    assert_linear(_attempt(kind), FEW)


def test_terms_are_matched_once_with_the_labels_of_many_victims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matched: list[str] = []

    def matches(term: OwnTerm, pod: Pod) -> bool:
        matched.append(pod.metadata.name)
        return False

    attempt = _attempt(HOSTILE_PODS["preempting, anti-affinity"])(FEW)
    monkeypatch.setattr(OwnTerm, "matches", matches)
    attempt()
    assert len(set(matched)) == 1
    assert len(matched) == FEW


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
        scheduler.cache.validate()
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
        assert up.process.wait(PATIENCE) == 0
    finally:
        up.process.stop(1)
