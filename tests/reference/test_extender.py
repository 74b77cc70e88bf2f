"""`mooring extender` behind the real kube-scheduler, on the real API server."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.reference.sides import Running, reference
from tests.support.api import Object
from tests.support.cluster import Cluster
from tests.support.extenders import ExtenderProgram, extender
from tests.support.waiting import eventually

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")

OPEN_NODES = """
    from mooring import Plugin, Status

    CLOSED = Status.unschedulable("node(s) were closed")

    class OpenNodes(Plugin):
        '''Keep pods off nodes that are labelled closed=true.'''

        def filter_nodes(self, state, pod, nodes):
            yield CLOSED, nodes.label_is("closed", "true")
"""
TWO_SIDES = """
    from mooring import Plugin

    class Left(Plugin):
        '''Prefer the nodes on the left.'''

        def score_nodes(self, state, pod, nodes):
            return nodes.label_is("side", "left").astype("int64") * 100

    class Right(Plugin):
        '''Prefer the nodes on the right, one by one.'''

        def score(self, state, pod, node):
            return 100 if node.labels.get("side") == "right" else 0
"""
LICENSES = """
    from mooring import Plugin, Status

    class Licenses(Plugin):
        '''Allow one pod with the label license on each node.'''

        def filter(self, state, pod, node):
            taken = [one for one in node.pods.values() if "license" in one.pod.metadata.labels]
            if taken and "license" in pod.metadata.labels:
                return Status.unschedulable("node(s) had no license left")
"""
OWN_BINDER = """
    from mooring import Plugin, Status
    from mooring.api import Pod

    class OwnBinder(Plugin):
        '''Bind the pods labelled own=true, and leave others to DefaultBinder.'''

        async def bind(self, state, pod, node_name):
            if pod.metadata.labels.get("own") != "true":
                return Status.skip()
            note, meta = {"status": {"message": "bound by OwnBinder"}}, pod.metadata
            client = self.handle.client
            await client.patch(Pod, meta.name, meta.namespace, note, subresource="status")
            await client.bind(pod, node_name)
"""


@contextmanager
def kube_scheduler_with(
    cluster: Cluster, program: Path, folder: Path, *sections: dict[str, Any]
) -> Iterator[Running]:
    """Run kube-scheduler with extenders."""
    config = folder / "kube-scheduler.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "leaderElection": {"leaderElect": False},
                "clientConnection": {"kubeconfig": str(cluster.plane.scheduler_kubeconfig)},
                "extenders": list(sections),
            }
        )
    )
    running = reference(program).start(cluster.plane, folder, [f"--config={config}"])
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def both(
    cluster: Cluster, program: Path, folder: Path, plugin: str, *arguments: str, **fields: Any
) -> Iterator[ExtenderProgram]:
    """Run an extender, and kube-scheduler with the section that the extender prints."""
    kubeconfig = cluster.plane.scheduler_kubeconfig
    with extender(folder, plugin, *arguments, kubeconfig=kubeconfig) as served:
        section = {**served.section(), **fields}
        with kube_scheduler_with(cluster, program, folder, section):
            yield served


def make_node(name: str, cpu: str = "8", **labels: str) -> Object:
    capacity = {"cpu": cpu, "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def make_pod(name: str, cpu: str = "100m", *, priority: str = "", **labels: str) -> Object:
    resources = {"requests": {"cpu": cpu, "memory": "16Mi"}}
    spec: Object = {"containers": [{"name": "main", "image": "pause", "resources": resources}]}
    if priority:
        spec["priorityClassName"] = priority
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {**spec, "terminationGracePeriodSeconds": 0},
    }


def node_of(cluster: Cluster, name: str) -> str:
    """Wait until a pod is bound; return its node."""
    pod = cluster.wait_for("Pod", name, lambda pod: bool(pod["spec"].get("nodeName")))
    node: str = pod["spec"]["nodeName"]
    return node


def refusal_of(cluster: Cluster, name: str, reason: str) -> str:
    """Wait until a pod is pending for a reason; return the message."""

    def condition(pod: Object) -> Object:
        conditions = pod["status"].get("conditions", [])
        found = [one for one in conditions if one["type"] == "PodScheduled"]
        return found[0] if found else {}

    pod = cluster.wait_for("Pod", name, lambda pod: condition(pod).get("reason") == reason)
    message: str = condition(pod)["message"]
    return message


@pytest.mark.parametrize("whole", [False, True], ids=["by name", "whole nodes"])
def test_a_node_that_the_plugin_refuses_is_not_chosen(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path, whole: bool
) -> None:
    cluster.create(make_node("node-1", closed="true"))
    cluster.create(make_node("node-2", closed="true"))
    more = ["--no-node-cache-capable"] if whole else []
    with both(
        cluster, kube_scheduler, tmp_path, OPEN_NODES, f"--plugin={tmp_path}/plugins.py", *more
    ) as served:
        cluster.create(make_pod("waits"))
        message = refusal_of(cluster, "waits", "Unschedulable")
        assert "0/2 nodes are available: 2 node(s) were closed." in message
        cluster.api.patch("Node", "node-2", {"metadata": {"labels": {"closed": "false"}}})
        changes = itertools.count()

        def place() -> str:
            """Return the pod's node; change the other node if there is none yet.

            kube-scheduler may send its request before the extender has seen a change of a node,
            and sends the next one only after a further change.
            """
            pod = cluster.api.get("Pod", "waits", cluster.namespace)
            if node := pod["spec"].get("nodeName"):
                return str(node)
            labels = {"change": str(next(changes))}
            cluster.api.patch("Node", "node-1", {"metadata": {"labels": labels}})
            return ""

        assert eventually(place, "a node for the pod") == "node-2"
        assert served.answered("filter") >= 2


@pytest.mark.parametrize(("left", "right", "chosen"), [(5, 2, "node-1"), (2, 5, "node-2")])
def test_weights_decide_between_two_plugins(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path, left: int, right: int, chosen: str
) -> None:
    cluster.create(make_node("node-1", side="left"))
    cluster.create(make_node("node-2", side="right"))
    plugins = [{"name": "Left", "weight": left}, {"name": "Right", "weight": right}]
    config = tmp_path / "extender.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"plugins": {"score": {"enabled": plugins}}}],
            }
        )
    )
    arguments = [f"--plugin={tmp_path}/plugins.py:{name}" for name in ("Left", "Right")]
    with both(
        cluster, kube_scheduler, tmp_path, TWO_SIDES, *arguments, f"--config={config}"
    ) as served:
        assert served.section()["weight"] == 7
        cluster.create(make_pod("weighed"))
        assert node_of(cluster, "weighed") == chosen
        assert served.answered("prioritize") == 1


def make_priorities(cluster: Cluster) -> None:
    for name, value in (("low", 1), ("medium", 10), ("high", 1000)):
        cluster.create(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )


def test_the_victims_on_a_refused_node_stay(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path
) -> None:
    make_priorities(cluster)
    cluster.create(make_node("node-1", cpu="2"))
    with both(
        cluster, kube_scheduler, tmp_path, OPEN_NODES, f"--plugin={tmp_path}/plugins.py"
    ) as served:
        # Without the extender, node-1 would be cleared: its pod is the least important one.
        cluster.create(make_pod("cheap", "2", priority="low"))
        assert node_of(cluster, "cheap") == "node-1"
        cluster.create(make_node("node-2", cpu="2"))
        cluster.create(make_pod("costly", "2", priority="medium"))
        assert node_of(cluster, "costly") == "node-2"
        cluster.api.patch("Node", "node-1", {"metadata": {"labels": {"closed": "true"}}})
        cluster.create(make_pod("urgent", "2", priority="high"))
        assert node_of(cluster, "urgent") == "node-2"
        assert served.answered("preempt") >= 1
        left = {pod["metadata"]["name"] for pod in cluster.api.list("Pod", cluster.namespace)}
        assert left == {"cheap", "urgent"}


def test_pods_that_only_the_plugin_minds_become_victims(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path
) -> None:
    make_priorities(cluster)
    cluster.create(make_node("node-1", cpu="2"))
    with both(cluster, kube_scheduler, tmp_path, LICENSES, f"--plugin={tmp_path}/plugins.py"):
        for pod in (
            make_pod("large", "1500m", priority="low"),
            make_pod("licensed", priority="low", license="one"),
            make_pod("bystander", priority="low"),
        ):
            cluster.create(pod)
            assert node_of(cluster, pod["metadata"]["name"]) == "node-1"
        cluster.create(make_pod("urgent", "1500m", priority="high", license="one"))
        assert node_of(cluster, "urgent") == "node-1"
        left = {pod["metadata"]["name"] for pod in cluster.api.list("Pod", cluster.namespace)}
        assert left == {"bystander", "urgent"}


def test_a_bind_plugin_binds(cluster: Cluster, kube_scheduler: Path, tmp_path: Path) -> None:
    cluster.create(make_node("node-1"))
    with both(
        cluster, kube_scheduler, tmp_path, OWN_BINDER, f"--plugin={tmp_path}/plugins.py"
    ) as served:
        cluster.create(make_pod("own", own="true"))
        cluster.create(make_pod("other"))
        assert node_of(cluster, "own") == node_of(cluster, "other") == "node-1"
        notes = {
            pod["metadata"]["name"]: pod["status"].get("message")
            for pod in cluster.api.list("Pod", cluster.namespace)
        }
        assert notes == {"own": "bound by OwnBinder", "other": None}
        assert served.answered("bind") == 2


def test_pods_wait_for_an_extender_that_died(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path
) -> None:
    cluster.create(make_node("node-1"))
    with both(
        cluster, kube_scheduler, tmp_path, OPEN_NODES, f"--plugin={tmp_path}/plugins.py"
    ) as served:
        served.kill()
        cluster.create(make_pod("waits"))
        message = refusal_of(cluster, "waits", "SchedulerError")
        assert f'Post "{served.url}/filter": ' in message
        assert "connection refused" in message
        served.start()
        assert node_of(cluster, "waits") == "node-1"


def test_pods_do_not_wait_for_an_ignorable_extender(
    cluster: Cluster, kube_scheduler: Path, tmp_path: Path
) -> None:
    cluster.create(make_node("node-1", closed="true"))
    arguments = [f"--plugin={tmp_path}/plugins.py", "--ignorable"]
    with both(cluster, kube_scheduler, tmp_path, OPEN_NODES, *arguments) as served:
        cluster.create(make_pod("refused"))
        refusal_of(cluster, "refused", "Unschedulable")
        served.kill()
        cluster.create(make_pod("free"))
        assert node_of(cluster, "free") == "node-1"
        served.start()
