"""CapacityScheduling in a scheduler in memory."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring import QueueingHint
from mooring.api import ElasticQuota, KubeObject, Pod, decode_as
from mooring.contrib.capacity_scheduling import CapacityScheduling
from mooring.contrib.capacity_scheduling.plugin import ELASTIC_QUOTAS, NOT_COUNTED
from mooring.errors import ConfigError
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.decision import Decision
from mooring.testing import check_plugin, make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.profiles import configuration, make_scheduler

MODES = ("Containers", "Scheduler")


def config(mode: str | None = "Containers") -> dict[str, Any]:
    """Return a configuration with the plugin; `mode` is podRequests, None to leave it out."""
    args = None if mode is None else {"CapacityScheduling": {"podRequests": mode}}
    return configuration("CapacityScheduling", disabled=["DefaultPreemption"], args=args)


def quota(namespace: str, low: Any = None, high: Any = None, name: str = "q") -> ElasticQuota:
    spec = {key: {"cpu": cpu} for key, cpu in (("min", low), ("max", high)) if cpu is not None}
    raw = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return decode_as(raw, ElasticQuota)


def pod(name: str, namespace: str, cpu: str = "1", **more: Any) -> Pod:
    return make_pod(name, namespace=namespace, cpu=cpu, **more)


class Tenants:
    """A scheduler in memory with two tenants, each guaranteed 2 of 4 cpus."""

    def __init__(self, *objects: KubeObject, cpu: int = 4, mode: str | None = "Containers") -> None:
        quotas = [quota("a", "2", "4"), quota("b", "2", "4")]
        nodes = [make_node("n", cpu=cpu)]
        self.scheduler: MemoryScheduler = make_scheduler(config(mode), [*nodes, *quotas, *objects])

    @property
    def plugin(self) -> CapacityScheduling:
        (profile,) = self.scheduler.profiles.values()
        plugin = profile.plugins["CapacityScheduling"]
        assert isinstance(plugin, CapacityScheduling)
        return plugin

    def schedule(self, new: Pod) -> Decision:
        self.scheduler.cluster.add(new)
        return drive(self.scheduler.schedule_one(new))

    def cpu(self) -> dict[str, int]:
        return {name: used.get("cpu", 0) for name, used in self.plugin.usage().items()}

    def running(self) -> list[str]:
        return sorted(pod.key for pod in self.scheduler.cluster.pods.list() if pod.node_name)


def test_a_tenant_borrows_what_the_other_does_not_use() -> None:
    tenants = Tenants()
    for number in range(4):
        assert tenants.schedule(pod(f"p{number}", "a")).node_name == "n"
    assert tenants.cpu() == {"a": 4000, "b": 0}


def test_a_tenant_takes_back_what_it_is_guaranteed() -> None:
    borrowed = [pod(f"p{number}", "a", node="n", priority=100) for number in range(4)]
    tenants = Tenants(*borrowed)
    mine = pod("mine", "b", priority=0)
    decision = tenants.schedule(mine)
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == "n"
    assert len(decision.post_filter.victims) == 1
    # The victim is gone, and there is room for the pod.
    assert tenants.cpu() == {"a": 3000, "b": 0}
    assert tenants.schedule(mine).node_name == "n"
    assert tenants.cpu() == {"a": 3000, "b": 1000}


def test_a_tenant_beyond_its_guarantee_takes_nothing_from_others() -> None:
    tenants = Tenants(
        *(pod(f"a{number}", "a", node="n") for number in range(2)),
        *(pod(f"b{number}", "b", node="n") for number in range(2)),
    )
    decision = tenants.schedule(pod("more", "b", priority=1000))
    assert decision.post_filter is not None
    # Only less important pods of its own namespace.
    assert {victim.namespace for victim in decision.post_filter.victims} == {"b"}


def test_more_than_max_is_refused() -> None:
    tenants = Tenants(cpu=64)
    decision = tenants.schedule(pod("big", "a", cpu="4001m"))
    assert decision.pre_filter is not None
    assert decision.pre_filter.message == (
        "Pod a/big is rejected in PreFilter because ElasticQuota a is more than Max"
    )


def test_a_namespace_without_a_quota_is_not_limited() -> None:
    tenants = Tenants(cpu=64)
    assert tenants.schedule(pod("free", "c", cpu="50")).node_name == "n"
    assert tenants.cpu() == {"a": 0, "b": 0}


def test_usage_is_right_after_a_restart() -> None:
    tenants = Tenants()
    for number in range(3):
        tenants.schedule(pod(f"p{number}", "a"))
    pods = list(tenants.scheduler.cluster.pods.list())
    for order in (pods, pods[::-1]):
        assert Tenants(*order).cpu() == {"a": 3000, "b": 0}


def test_a_quota_that_comes_after_its_pods_does_not_count_them() -> None:
    tenants = Tenants(pod("old", "c", node="n"))
    tenants.scheduler.cluster.add(quota("c", "2", "4"))
    assert tenants.cpu()["c"] == 0
    tenants.schedule(pod("new", "c"))
    assert tenants.cpu()["c"] == 1000


def test_pods_that_end_or_go_give_back_their_share() -> None:
    tenants = Tenants(pod("x", "a", node="n"), pod("y", "a", node="n"), pod("z", "a", node="n"))
    cluster = tenants.scheduler.cluster
    cluster.delete(pod("x", "a"))
    cluster.add(pod("y", "a", node="n", status={"phase": "Succeeded"}))
    cluster.add(pod("z", "a", node="n", status={"phase": "Unknown"}))
    assert tenants.cpu() == {"a": 0, "b": 0}


def test_a_second_quota_of_a_namespace_is_ignored_until_it_changes() -> None:
    tenants = Tenants(pod("x", "a", node="n"))
    cluster = tenants.scheduler.cluster
    cluster.add(quota("a", "0", "0", name="second"))
    assert tenants.schedule(pod("fits", "a")).node_name == "n"
    cluster.add(quota("a", "0", "1", name="second"))
    assert tenants.schedule(pod("not", "a")).pre_filter is not None
    cluster.delete(quota("a", name="second"))
    assert "a" not in tenants.plugin.usage()


def test_a_refused_reservation_gives_back_the_share() -> None:
    tenants = Tenants()
    waiting = pod("p", "a")
    tenants.scheduler.cluster.add(waiting)
    attempt = drive(tenants.scheduler.decide(waiting))
    drive(tenants.scheduler.reserve(attempt))
    assert tenants.cpu()["a"] == 1000
    drive(tenants.scheduler.unreserve(attempt))
    assert tenants.cpu()["a"] == 0


def test_pods_nominated_before_count() -> None:
    nominated = pod("first", "a", cpu="3", priority=5, status={"nominatedNodeName": "n"})
    tenants = Tenants(nominated, cpu=64)
    assert tenants.schedule(pod("second", "a", cpu="2", priority=5)).pre_filter is not None
    assert tenants.schedule(pod("third", "a", cpu="2", priority=6)).node_name == "n"


def test_min_over_max_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tenants = Tenants(quota("c", "8", "4"), cpu=64)
        tenants.schedule(pod("p", "c", cpu="5"))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["ElasticQuota c/q: min exceeds max for cpu; both are applied as they are"]


def test_a_quota_that_cannot_be_read_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        tenants = Tenants(quota("c", "lots"), cpu=64)
        assert tenants.schedule(pod("p", "c")).node_name == "n"
    assert "c" not in tenants.plugin.usage()
    assert caplog.records[0].getMessage().startswith("ElasticQuota c/q is ignored: ")


@pytest.mark.parametrize(
    ("resource", "action", "old", "expected"),
    [
        (EventResource.POD, ActionType.DELETE, pod("x", "b"), QueueingHint.QUEUE),
        (EventResource.POD, ActionType.DELETE, pod("x", "none"), QueueingHint.SKIP),
        (
            EventResource.ASSIGNED_POD,
            ActionType.UPDATE_POD_SCALE_DOWN,
            pod("x", "b"),
            QueueingHint.QUEUE,
        ),
        (
            EventResource.ASSIGNED_POD,
            ActionType.UPDATE_POD_SCALE_DOWN,
            pod("x", "none"),
            QueueingHint.SKIP,
        ),
        (
            EventResource.TARGET_POD,
            ActionType.UPDATE_POD_SCALE_DOWN,
            pod("p", "a"),
            QueueingHint.QUEUE,
        ),
        (ELASTIC_QUOTAS, ActionType.UPDATE, quota("a"), QueueingHint.QUEUE),
    ],
    ids=[
        "a counted pod left",
        "another pod left",
        "a counted pod shrank",
        "another pod shrank",
        "the pod itself shrank",
        "a quota changed",
    ],
)
def test_hints(resource: str, action: ActionType, old: Any, expected: QueueingHint) -> None:
    plugin = Tenants().plugin
    happened = ClusterEvent(resource, action)
    (event,) = [one for one in plugin.events_to_register() if one.matches(happened)]
    answer = QueueingHint.QUEUE if event.hint is None else event.hint(pod("p", "a"), old, None)
    assert answer is expected


def with_sidecar(name: str, namespace: str, cpu: str, **more: Any) -> Pod:
    """Return a pod that requests nothing but a sidecar."""
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}}
    return make_pod(name, namespace=namespace, cpu="1", spec={"initContainers": [sidecar]}, **more)


def with_pod_level(name: str, namespace: str, cpu: str, **more: Any) -> Pod:
    """Return a pod that requests an amount as a whole."""
    return make_pod(
        name, namespace=namespace, spec={"resources": {"requests": {"cpu": cpu}}}, **more
    )


def resizing(name: str, namespace: str, spec: str, allocated: str) -> Pod:
    """Return a pod on a node that was resized to `spec`, with `allocated` still in use."""
    amounts = {"cpu": allocated}
    container = {
        "name": "container",
        "allocatedResources": amounts,
        "resources": {"requests": amounts},
    }
    status = {"phase": "Running", "containerStatuses": [container]}
    return make_pod(name, namespace=namespace, cpu=spec, node="n", status=status)


@pytest.mark.parametrize(
    ("used", "containers", "scheduler"),
    [
        pytest.param(with_sidecar("x", "a", "3", node="n"), 3000, 4000, id="a sidecar"),
        pytest.param(with_pod_level("x", "a", "3", node="n"), 0, 3000, id="pod-level resources"),
        pytest.param(resizing("x", "a", "1", "3"), 1000, 3000, id="a resize in progress"),
        pytest.param(pod("x", "a", "3", node="n"), 3000, 3000, id="containers"),
    ],
)
def test_a_pod_counts_as_pod_requests_says(used: Pod, containers: int, scheduler: int) -> None:
    for mode, expected in (("Containers", containers), ("Scheduler", scheduler)):
        assert Tenants(used, cpu=64, mode=mode).cpu()["a"] == expected
    node = Tenants(used, cpu=64).scheduler.cache.nodes.find("n")
    assert node is not None and node.requested["cpu"] == scheduler


@pytest.mark.parametrize("make", [with_sidecar, with_pod_level])
def test_sidecars_and_pod_level_resources_stay_within_max(make: Any) -> None:
    tenants = Tenants(cpu=64, mode="Scheduler")
    assert tenants.schedule(make("first", "a", "3")).node_name == "n"
    refused = tenants.schedule(make("second", "a", "3"))
    assert refused.pre_filter is not None and "is more than Max" in refused.pre_filter.message
    # The original's sum lets a namespace use more.
    tenants = Tenants(cpu=64)
    for number in range(4):
        assert tenants.schedule(with_pod_level(f"p{number}", "a", "3")).node_name == "n"


@pytest.mark.parametrize("mode", MODES)
def test_a_resize_counts_when_it_happens(mode: str) -> None:
    tenants = Tenants(pod("x", "a", "1", node="n"), cpu=64, mode=mode)
    cluster = tenants.scheduler.cluster
    assert tenants.schedule(pod("fits", "a", "3")).node_name == "n"
    cluster.add(pod("x", "a", "3", node="n"))
    assert tenants.cpu() == {"a": 6000, "b": 0}
    assert tenants.schedule(pod("not", "a", "0")).pre_filter is not None
    cluster.add(pod("x", "a", "500m", node="n"))
    assert tenants.cpu() == {"a": 3500, "b": 0}
    cluster.delete(pod("x", "a", "500m", node="n"))
    assert tenants.cpu() == {"a": 3000, "b": 0}


@pytest.mark.parametrize("mode", MODES)
def test_a_pod_that_was_resized_before_it_was_bound_counts_with_its_new_requests(
    mode: str,
) -> None:
    tenants = Tenants(cpu=64, mode=mode)
    waiting = pod("p", "a", "1")
    tenants.scheduler.cluster.add(waiting)
    drive(tenants.scheduler.reserve(drive(tenants.scheduler.decide(waiting))))
    assert tenants.cpu()["a"] == 1000
    tenants.scheduler.cluster.add(pod("p", "a", "2", node="n"))
    assert tenants.cpu()["a"] == 2000


@pytest.mark.parametrize("mode", MODES)
def test_a_resize_of_a_pod_that_does_not_count_changes_nothing(mode: str) -> None:
    tenants = Tenants(pod("old", "c", node="n"), mode=mode)
    tenants.scheduler.cluster.add(quota("c", "2", "4"))
    tenants.scheduler.cluster.add(pod("old", "c", "2", node="n"))
    assert tenants.cpu()["c"] == 0


def test_a_pod_of_unknown_phase_counts_as_for_the_scheduler() -> None:
    """A user who may write the status of pods does not leave the quota by it."""
    tenants = Tenants(pod("x", "a", "3", node="n"), cpu=64, mode="Scheduler")
    tenants.scheduler.cluster.add(pod("x", "a", "3", node="n", status={"phase": "Unknown"}))
    assert tenants.cpu() == {"a": 3000, "b": 0}
    tenants.scheduler.cluster.add(pod("x", "a", "3", node="n", status={"phase": "Failed"}))
    assert tenants.cpu() == {"a": 0, "b": 0}


def test_preemption_counts_sidecars_of_those_that_borrow() -> None:
    # The namespace is over its min only because of its sidecars.
    borrowed = [with_sidecar(f"p{number}", "a", "1", node="n") for number in range(2)]
    for mode, victims in (("Containers", 0), ("Scheduler", 1)):
        tenants = Tenants(*borrowed, mode=mode)
        result = tenants.schedule(pod("mine", "b", "2")).post_filter
        assert result is not None and len(result.victims) == victims, mode


@pytest.mark.parametrize(("mode", "warnings"), [(None, 1), ("Containers", 0), ("Scheduler", 0)])
def test_a_start_without_pod_requests_warns_once(
    mode: str | None, warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Tenants(mode=mode)
    assert [one.getMessage() for one in caplog.records] == [NOT_COUNTED] * warnings


def test_another_value_of_pod_requests_is_refused() -> None:
    with pytest.raises(ConfigError, match="podRequests"):
        Tenants(mode="Everything")


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "a/b", "x"]),
    st.one_of(st.integers(-3, 5), st.sampled_from(["1", "0", "500m", "lots", "1e3", ""])),
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(
    low=st.none() | amounts, high=st.none() | amounts, cpus=st.lists(st.integers(0, 5), max_size=4)
)
def test_any_quota_is_handled_without_a_fault(low: Any, high: Any, cpus: Sequence[int]) -> None:
    spec = {key: value for key, value in (("min", low), ("max", high)) if value is not None}
    raw = {"metadata": {"name": "q", "namespace": "c"}, "spec": spec}
    tenants = Tenants(decode_as(raw, ElasticQuota))
    for number, cpu in enumerate(cpus):
        decision = tenants.schedule(pod(f"p{number}", "c", cpu=str(cpu), priority=number))
        assert [fault.message for fault in decision.errors] == []


def test_the_contract() -> None:
    pods = [pod("x", "a", node="n0"), pod("y", "b"), pod("z", "a")]
    check_plugin(CapacityScheduling, pods=pods, objects=[quota("a", "1", "2"), quota("b", "1")])
