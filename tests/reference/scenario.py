"""The scenario that both sides run: pods that fit, that do not fit, and that preempt others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.reference.sides import Running, Side
from tests.support.api import Object
from tests.support.cluster import Cluster

#: One cycle in ten has its plugins timed; with this many pods, kube-scheduler surely times one.
PLAIN = 80
#: Pods whose log lines are compared: one that fits, one that never fits, and one that preempts
#: another.
FOLLOWED = "followed"
LARGE = "large"
URGENT = "urgent"
#: Metrics that kube-scheduler shows only after a second, when it flushes its recorder.
LATE = (
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_inflight_events",
)


class Observed(msgspec.Struct, frozen=True):
    """What can be observed of a scheduler after the scenario."""

    metrics: str
    configz: Any
    readyz: str
    livez: str
    healthz: str
    log: str


def observe(side: Side, cluster: Cluster, folder: Path) -> Observed:
    """Run the scenario and return what can be observed."""
    # Before the scheduler starts, so that it knows both nodes when it tries the first pod.
    for name in ("node-1", "node-2"):
        cluster.create(_node(name))
    running = side.start(cluster.plane, folder, ["--v=4"])
    try:
        _live(cluster)
        _bring_out_late_metrics(running, cluster)
        return Observed(
            metrics=running.get("/metrics"),
            configz=json.loads(running.get("/configz")),
            readyz=running.get("/readyz?verbose"),
            livez=running.get("/livez?verbose"),
            healthz=running.get("/healthz?verbose"),
            log=running.log(),
        )
    finally:
        running.stop()


def _live(cluster: Cluster) -> None:
    cluster.create(_pod(FOLLOWED))
    _bound(cluster, FOLLOWED)
    for index in range(PLAIN):
        cluster.create(_pod(f"plain-{index}"))
    for index in range(PLAIN):
        _bound(cluster, f"plain-{index}")
    cluster.create(_pod(LARGE, cpu="1000"))
    cluster.wait_for("Pod", LARGE, lambda pod: _condition(pod) == "False")
    cluster.create(_priority_class("high", 1000))
    for name in ("node-1", "node-2"):
        spec = {"nodeSelector": {"name": name}, "terminationGracePeriodSeconds": 600}
        cluster.create(_pod(f"filler-{name}", cpu="60", spec=spec))
        _bound(cluster, f"filler-{name}")
    cluster.create(_pod(URGENT, cpu="60", spec={"priorityClassName": "high"}))
    _end_victim(cluster)
    _bound(cluster, URGENT)
    cluster.create(_pod("apart", spec={"affinity": _apart()}))
    _bound(cluster, "apart")


def _end_victim(cluster: Cluster) -> None:
    """Delete the victim after the nomination is written, so that both sides see that first."""
    nominated = cluster.wait_for("Pod", URGENT, lambda pod: bool(_nominated(pod)))
    victim = f"filler-{_nominated(nominated)}"
    cluster.wait_for("Pod", victim, lambda pod: "deletionTimestamp" in pod["metadata"])
    cluster.api.delete("Pod", victim, cluster.namespace, gracePeriodSeconds=0)


def _nominated(pod: Object) -> str:
    return str(pod.get("status", {}).get("nominatedNodeName", ""))


def _bring_out_late_metrics(running: Running, cluster: Cluster) -> None:
    """Delete pods, which makes the large one be retried, until all late metrics are shown."""
    plain = iter(range(PLAIN))

    def shown() -> bool:
        metrics = running.get("/metrics")
        if all(name in metrics for name in LATE):
            return True
        cluster.api.delete("Pod", f"plain-{next(plain, 0)}", cluster.namespace)
        return False

    running.wait_until(shown)


def _bound(cluster: Cluster, name: str) -> None:
    cluster.wait_for("Pod", name, lambda pod: bool(pod["spec"].get("nodeName")))


def _condition(pod: Object) -> str:
    for condition in pod.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodScheduled":
            return str(condition["status"])
    return ""


def _node(name: str) -> Object:
    amounts = {"cpu": "100", "memory": "100Gi", "pods": "500"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"name": name}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _pod(name: str, cpu: str = "10m", spec: Object | None = None) -> Object:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        # No kubelet runs here that could end a pod gracefully.
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **(spec or {})},
    }


def _apart() -> Object:
    term = {"labelSelector": {"matchLabels": {"app": "none"}}, "topologyKey": "name"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _priority_class(name: str, value: int) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }
