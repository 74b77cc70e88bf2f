"""kill -9 of real processes amid many pods: each pod is bound once, and no node overflows.

The nodes have room for exactly as many pods as there are, so that a miscounted place leaves a pod
pending or a node too full.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.api import Api, ApiFailure
from tests.support.control_plane import ControlPlane
from tests.support.crowded_nodes import (
    PODS_PER_NODE,
    StartableScheduler,
    make_node,
    make_pod,
)
from tests.support.processes import Process
from tests.support.schedulers import SCHEDULER_PROGRAM
from tests.support.waiting import PATIENCE

PODS = int(os.environ.get("MOORING_FAULT_PODS", "1000"))
NAMESPACE = "faults"


class Stage:
    """A control plane with many pending pods, and a scheduler that may be killed."""

    def __init__(self, plane: ControlPlane, api: Api, folder: Path) -> None:
        self.plane = plane
        self.api = api
        self._scheduler = StartableScheduler(
            SCHEDULER_PROGRAM,
            folder,
            "scheduler",
            plane.scheduler_kubeconfig,
            leaderElect="false",
        )
        #: The node of every pod, as it was first seen.
        self.seen: dict[str, str] = {}

    def fill(self) -> None:
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for number in range(PODS // PODS_PER_NODE):
            self.api.create(make_node(number))
        self.api.resource("Pod")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: self.api.create(make_pod(number), NAMESPACE), range(PODS)))

    @property
    def scheduler(self) -> Process:
        return self._scheduler.process

    def start_scheduler(self) -> None:
        self._scheduler.start()

    def kill_scheduler(self) -> None:
        self.scheduler.kill()
        self.start_scheduler()

    def kill_apiserver(self) -> None:
        self.plane.kube_apiserver.kill()
        self.plane.start_apiserver()

    def kill_etcd(self) -> None:
        self.plane.etcd.kill()
        self.plane.start_etcd()

    def bound(self) -> int:
        """Return the number of bound pods; fail if one has moved to another node."""
        for pod in self.api.list("Pod", NAMESPACE, resourceVersion="0"):
            if node_name := pod["spec"].get("nodeName"):
                name = pod["metadata"]["name"]
                assert self.seen.setdefault(name, node_name) == node_name, f"{name} was moved"
        return len(self.seen)

    def wait_for(self, number: int) -> None:
        """Wait until a number of pods are bound; fail if there is no progress."""
        moved, last = time.monotonic(), -1
        while True:
            try:
                bound = self.bound()
            except (OSError, ApiFailure):
                # The API server is being restarted, or has just been.
                bound = last
            if bound >= number:
                return
            if bound > last:
                moved, last = time.monotonic(), bound
            waited = time.monotonic() - moved
            assert waited < PATIENCE, f"{last} of {number} pods are bound:\n{self.scheduler.tail()}"
            time.sleep(0.1)


@pytest.fixture
def stage(private_control_plane: ControlPlane, tmp_path: Path) -> Iterator[Stage]:
    with Api(private_control_plane.access) as api:
        stage = Stage(private_control_plane, api, tmp_path)
        stage.fill()
        stage.start_scheduler()
        try:
            yield stage
        finally:
            stage.scheduler.stop()


@pytest.mark.parametrize(
    "disasters",
    [
        pytest.param([Stage.kill_scheduler] * 3, id="the scheduler, three times"),
        pytest.param([Stage.kill_apiserver, Stage.kill_apiserver], id="the API server, twice"),
        pytest.param([Stage.kill_etcd, Stage.kill_etcd], id="etcd, twice"),
        pytest.param(
            [Stage.kill_etcd, Stage.kill_scheduler, Stage.kill_apiserver, Stage.kill_scheduler],
            id="everybody in turn",
        ),
    ],
)
def test_every_pod_is_bound_once_and_no_node_overflows(
    stage: Stage, disasters: list[Callable[[Stage], None]]
) -> None:
    for number, disaster in enumerate(disasters, 1):
        stage.wait_for(PODS * number // (len(disasters) + 1))
        disaster(stage)
    stage.wait_for(PODS)
    assert Counter(stage.seen.values()) == {
        f"node-{number}": PODS_PER_NODE for number in range(PODS // PODS_PER_NODE)
    }
    notes = Counter(
        (event["regarding"]["name"], event["note"])
        for event in stage.api.request(
            "GET", f"apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
        )["items"]
        if event["reason"] == "Scheduled"
    )
    for (name, note), times in notes.items():
        assert times == 1, f"{name} was bound {times} times"
        assert note == f"Successfully assigned {NAMESPACE}/{name} to {stage.seen[name]}"
