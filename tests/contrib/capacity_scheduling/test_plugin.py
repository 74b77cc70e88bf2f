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
from mooring.contrib.capacity_scheduling.plugin import ELASTIC_QUOTAS
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.decision import Decision
from mooring.testing import check_plugin, make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.contrib.profiles import configuration, make_scheduler

CONFIG = configuration("CapacityScheduling", disabled=["DefaultPreemption"])


def quota(namespace: str, low: Any = None, high: Any = None, name: str = "q") -> ElasticQuota:
    spec = {key: {"cpu": cpu} for key, cpu in (("min", low), ("max", high)) if cpu is not None}
    raw = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    return decode_as(raw, ElasticQuota)


def pod(name: str, namespace: str, cpu: str = "1", **more: Any) -> Pod:
    return make_pod(name, namespace=namespace, cpu=cpu, **more)


class Tenants:
    """A scheduler in memory with two tenants, each guaranteed 2 of 4 cpus."""

    def __init__(self, *objects: KubeObject, cpu: int = 4) -> None:
        quotas = [quota("a", "2", "4"), quota("b", "2", "4")]
        nodes = [make_node("n", cpu=cpu)]
        self.scheduler: MemoryScheduler = make_scheduler(CONFIG, [*nodes, *quotas, *objects])

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
        (ELASTIC_QUOTAS, ActionType.UPDATE, quota("a"), QueueingHint.QUEUE),
    ],
    ids=["a counted pod left", "another pod left", "a quota changed"],
)
def test_hints(resource: str, action: ActionType, old: Any, expected: QueueingHint) -> None:
    plugin = Tenants().plugin
    happened = ClusterEvent(resource, action)
    (event,) = [one for one in plugin.events_to_register() if one.matches(happened)]
    answer = QueueingHint.QUEUE if event.hint is None else event.hint(pod("p", "a"), old, None)
    assert answer is expected


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
