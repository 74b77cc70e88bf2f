"""Gangs and quotas on a real API server, with and without the definitions of their objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.informers.reflector import NOT_SERVED
from tests.contrib.live import elastic_quota, pod_group, worker
from tests.contrib.on_server import add_custom, serve_scheduling
from tests.contrib.profiles import configuration as profile
from tests.live.running import Mooring, condition, configuration, is_bound
from tests.support.cluster import Cluster
from tests.support.waiting import eventually

Start = Callable[..., Mooring]


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts a scheduler with a plugin; it is ended with the test."""
    made: list[Mooring] = []

    def run(plugin: str = "Coscheduling", instead_of: str = "PrioritySort") -> Mooring:
        found = profile(plugin, disabled=[instead_of])
        found["profiles"][0]["schedulerName"] = cluster.namespace
        config = configuration(cluster.plane.admin_kubeconfig, profiles=found["profiles"])
        made.append(Mooring(tmp_path / str(len(made)), config))
        made[-1].wait_ready()
        return made[-1]

    yield run
    for one in made:
        one.process.kill()


def node(name: str, cpu: int) -> dict[str, Any]:
    room = {"cpu": str(cpu), "memory": "8Gi", "pods": "110"}
    status = {"capacity": room, "allocatable": room}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def member(cluster: Cluster, name: str, group: str = "", namespace: str = "") -> None:
    place = namespace or cluster.namespace
    cluster.create(worker(name, group, place, schedulerName=cluster.namespace))


def bound(cluster: Cluster, namespace: str = "") -> set[str]:
    """Return the names of the pods of a namespace that have a node."""
    pods = cluster.api.list("Pod", namespace or cluster.namespace)
    return {one["metadata"]["name"] for one in pods if is_bound(one)}


def test_a_gang_waits_as_a_whole_and_starts_as_a_whole(cluster: Cluster, start: Start) -> None:
    serve_scheduling(cluster)
    cluster.create(node("first", 4))
    start()
    add_custom(cluster, pod_group("g", 8))
    names = [f"m{number}" for number in range(8)]
    for name in names:
        member(cluster, name, "g")
    for name in names:
        found = cluster.wait_for("Pod", name, lambda one: condition(one).get("status") == "False")
        assert not is_bound(found)
    cluster.create(node("second", 4))
    for name in names:
        cluster.wait_for("Pod", name, is_bound, seconds=60)


@pytest.mark.parametrize("run", range(3))
def test_two_gangs_that_fit_one_at_a_time_run_one_after_the_other(
    run: int, cluster: Cluster, start: Start
) -> None:
    serve_scheduling(cluster)
    cluster.create(node("only", 8))
    start()
    gangs = {name: {f"{name}{number}" for number in range(8)} for name in ("red", "blue")}
    for name in gangs:
        add_custom(cluster, pod_group(name, 8))
    # Members alternate, in another order each time.
    for number in range(8):
        for name in sorted(gangs, reverse=bool((number + run) % 2)):
            member(cluster, f"{name}{number}", name)

    def whole() -> str:
        placed = bound(cluster)
        return next((name for name, names in gangs.items() if names <= placed), "")

    first = eventually(whole, "one gang runs", 90)
    assert bound(cluster) == gangs[first], "none of the other gang has taken a place"
    for name in gangs.pop(first):
        cluster.api.delete("Pod", name, cluster.namespace)
    eventually(whole, "the other gang runs", 90)


@pytest.fixture
def tenants(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield the namespaces of two tenants who share a node of four cpus, two guaranteed to each."""
    serve_scheduling(cluster)
    cluster.create(node("only", 4))
    other = Cluster(cluster.plane, cluster.api)
    for namespace in (cluster.namespace, other.namespace):
        add_custom(cluster, elastic_quota(namespace, "2", "4"), namespace)
    yield cluster.namespace, other.namespace
    other.wipe()


def borrow(cluster: Cluster) -> None:
    """Let the first tenant use the whole node."""
    for number in range(4):
        member(cluster, f"r{number}")
    eventually(lambda: len(bound(cluster)) == 4, "the tenant has borrowed")


def refusal(cluster: Cluster, name: str, namespace: str = "") -> str:
    """Wait until a pod is refused, and return why."""

    def ask() -> str:
        found = cluster.api.get("Pod", name, namespace or cluster.namespace)
        assert not is_bound(found)
        return str(condition(found).get("message", ""))

    return eventually(ask, f"{name} is refused")


CAPACITY = {"plugin": "CapacityScheduling", "instead_of": "DefaultPreemption"}


def test_a_tenant_borrows_and_the_other_takes_back(
    cluster: Cluster, tenants: tuple[str, str], start: Start
) -> None:
    red, blue = tenants
    start(**CAPACITY)
    borrow(cluster)
    for number in range(2):
        member(cluster, f"b{number}", namespace=blue)
    eventually(lambda: bound(cluster, blue) == {"b0", "b1"}, "the other tenant has its own back")
    eventually(lambda: len(cluster.api.list("Pod", red)) == 2, "the pods that borrowed are gone")
    assert len(bound(cluster, red)) == 2
    # More than it is guaranteed cannot be taken.
    member(cluster, "b2", namespace=blue)
    assert refusal(cluster, "b2", blue)
    assert len(bound(cluster, red)) == 2


def test_what_tenants_use_is_right_after_a_restart(
    cluster: Cluster, tenants: tuple[str, str], start: Start
) -> None:
    red, blue = tenants
    first = start(**CAPACITY)
    borrow(cluster)
    first.process.kill()
    start(**CAPACITY)
    member(cluster, "r4")
    assert "is more than Max" in refusal(cluster, "r4")
    member(cluster, "b0", namespace=blue)
    eventually(lambda: bound(cluster, blue) == {"b0"}, "the other tenant has its own back")
    eventually(lambda: len(bound(cluster, red)) == 3, "one pod that borrowed is gone")


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
