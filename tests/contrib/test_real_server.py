"""Gangs on a real API server, with and without the definitions of their custom resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.informers.reflector import NOT_SERVED
from mooring.local.custom_definitions import definitions
from tests.contrib.live import pod_group, worker
from tests.contrib.profiles import configuration as profile
from tests.live.running import Mooring, condition, configuration, is_bound
from tests.local.test_custom_definitions import is_established
from tests.support.cluster import Cluster
from tests.support.waiting import eventually

Start = Callable[[], Mooring]


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts a scheduler with Coscheduling; it is ended with the test."""
    made: list[Mooring] = []

    def run() -> Mooring:
        found = profile("Coscheduling", disabled=["PrioritySort"])
        found["profiles"][0]["schedulerName"] = cluster.namespace
        config = configuration(cluster.plane.admin_kubeconfig, profiles=found["profiles"])
        made.append(Mooring(tmp_path, config))
        made[-1].wait_ready()
        return made[-1]

    yield run
    for one in made:
        one.process.kill()


def node(name: str, cpu: int) -> dict[str, Any]:
    room = {"cpu": str(cpu), "memory": "8Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def member(cluster: Cluster, name: str, group: str = "") -> None:
    cluster.create(worker(name, group, cluster.namespace, schedulerName=cluster.namespace))


def test_a_gang_waits_as_a_whole_and_starts_as_a_whole(cluster: Cluster, start: Start) -> None:
    for definition in definitions(["scheduling"]):
        cluster.create(definition)
        name = definition["metadata"]["name"]
        cluster.wait_for("CustomResourceDefinition", name, is_established)
    cluster.create(node("first", 4))
    start()
    group = pod_group("g", 8)
    group["metadata"]["namespace"] = cluster.namespace
    path = f"apis/scheduling.x-k8s.io/v1alpha1/namespaces/{cluster.namespace}/podgroups"
    cluster.api.request("POST", path, group)
    names = [f"m{number}" for number in range(8)]
    for name in names:
        member(cluster, name, "g")
    for name in names:
        found = cluster.wait_for("Pod", name, lambda one: condition(one).get("status") == "False")
        assert not is_bound(found)
    cluster.create(node("second", 4))
    for name in names:
        cluster.wait_for("Pod", name, is_bound, seconds=60)


def test_without_the_definition_of_groups_other_pods_run(cluster: Cluster, start: Start) -> None:
    cluster.create(node("only", 4))
    scheduler = start()
    member(cluster, "member", "g")
    member(cluster, "plain")
    cluster.wait_for("Pod", "plain", is_bound)
    found = cluster.wait_for("Pod", "member", lambda one: condition(one).get("status") == "False")
    assert not is_bound(found)
    resource = "podgroups.v1alpha1.scheduling.x-k8s.io"
    text = NOT_SERVED % resource
    eventually(lambda: scheduler.lines(text), text)
    assert len(scheduler.lines(text)) == 1
