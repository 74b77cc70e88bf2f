"""kill -9 of the scheduler between two binds of a gang: the whole gang ends up bound."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from tests.support.api import Api, Object
from tests.support.control_plane import ControlPlane
from tests.support.crowded_nodes import (
    PODS_PER_NODE,
    StartableScheduler,
    make_node,
    make_pod,
)
from tests.support.schedulers import SCHEDULER_PROGRAM
from tests.support.waiting import PATIENCE

NAMESPACE = "default"
NODES = 2
PODS = NODES * PODS_PER_NODE
#: Requests in a second that the first scheduler may send: the binds take a while.
SLOWLY = 5


def make_group() -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": PODS}}},
    }


def make_member(number: int) -> Object:
    pod = make_pod(number)
    pod["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
    return pod


def bound(api: Api) -> dict[str, str]:
    """Return the nodes of the bound pods by the pods' names."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in api.list("Pod", NAMESPACE)
        if pod["spec"].get("nodeName")
    }


def wait_for(api: Api, scheduler: StartableScheduler, number: int) -> dict[str, str]:
    """Wait until so many pods are bound; fail if there is no progress."""
    moved, last = time.monotonic(), 0
    while len(found := bound(api)) < number:
        if len(found) > last:
            moved, last = time.monotonic(), len(found)
        waited = time.monotonic() - moved
        text = f"{last} of {number} pods are bound:\n{scheduler.process.tail()}"
        assert waited < PATIENCE, text
        time.sleep(0.05)
    return found


def test_a_gang_is_bound_as_a_whole_after_a_kill_amid_its_binds(
    pod_group_control_plane: ControlPlane, tmp_path: Path
) -> None:
    plane = pod_group_control_plane
    scheduler = StartableScheduler(
        SCHEDULER_PROGRAM,
        tmp_path,
        "scheduler",
        plane.scheduler_kubeconfig,
        flags=("--feature-gates=GenericWorkload=true",),
        leaderElect="false",
    )
    with Api(plane.access) as api:
        for number in range(NODES):
            api.create(make_node(number))
        api.create(make_group(), NAMESPACE)
        for number in range(PODS):
            api.create(make_member(number), NAMESPACE)
        scheduler.start(qps=SLOWLY)
        try:
            wait_for(api, scheduler, 3)
        finally:
            scheduler.process.kill()
        before = bound(api)
        assert 3 <= len(before) < PODS, "the kill came amid the binds"
        scheduler.start()
        try:
            after = wait_for(api, scheduler, PODS)
        finally:
            scheduler.process.stop()
        assert before.items() <= after.items(), "no pod has moved"
        assert Counter(after.values()) == {f"node-{n}": PODS_PER_NODE for n in range(NODES)}
        group = api.get("PodGroup", "gang", NAMESPACE)
        conditions = {one["type"]: one["status"] for one in group["status"]["conditions"]}
        assert conditions == {"PodGroupInitiallyScheduled": "True"}
