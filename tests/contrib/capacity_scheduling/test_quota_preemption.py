"""Who may be preempted for whom under elastic quotas."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import CycleState, NodeInfo
from mooring.api import ElasticQuota, Pod, decode_as
from mooring.contrib.capacity_scheduling.elastic_quotas import Quota, Quotas, QuotaView, pod_request
from mooring.contrib.capacity_scheduling.quota_preemption import (
    GLOBAL_MAX_EXCEEDED,
    NOT_READ,
    REQUESTS,
    VIEW,
    QuotaPolicy,
    Requests,
)
from mooring.framework.decision import NodeStatuses
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.testing import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler

INFOS = PodInfos(FeatureGates())
LEAVING = {"deletionTimestamp": "2026-03-01T12:00:00Z"}


def pod(name: str, namespace: str = "a", priority: int = 0, cpu: str = "1", **more: Any) -> Pod:
    return make_pod(name, namespace=namespace, priority=priority, cpu=cpu, **more)


class Case:
    """Pods on a node under quotas of two namespaces; "c" has none."""

    def __init__(self, *pods: Pod, preemptor: Pod, low: str = "2") -> None:
        quotas = Quotas()
        for namespace in "ab":
            raw = {
                "metadata": {"name": "q", "namespace": namespace},
                "spec": {"min": {"cpu": low}, "max": {"cpu": "4"}},
            }
            quotas.put(Quota(decode_as(raw, ElasticQuota)))
        for one in pods:
            quotas.add_pod(one)
        self.scheduler = MemoryScheduler([make_node("n")])
        (profile,) = self.scheduler.profiles.values()
        self.policy = QuotaPolicy(profile.handle)
        self.node = NodeInfo(make_node("n"), [INFOS.of(one) for one in pods])
        self.preemptor = preemptor
        self.state = CycleState()
        request = pod_request(preemptor)
        self.state.write(VIEW, QuotaView(quotas))
        self.state.write(REQUESTS, Requests(request, request, request))

    def victims(self) -> list[str]:
        """Return the potential victims; each is removed before the next one is asked for."""
        view = self.state.read(VIEW)
        found = []
        for victim in self.policy.potential_victims(self.state, self.preemptor, self.node):
            view.remove_pod(victim.pod)
            found.append(victim.pod.name)
        return found

    def is_being_cleared(self) -> bool:
        return self.policy.is_being_cleared(self.state, self.preemptor, self.node)


def test_within_its_min_a_pod_takes_from_those_over_theirs_until_they_no_longer_are() -> None:
    others = [pod(f"b{number}", "b", priority=number) for number in range(4)]
    case = Case(*others, pod("mine", "a"), pod("free", "c"), preemptor=pod("new", "a"))
    assert case.victims() == ["b0", "b1"]


def test_beyond_its_min_a_pod_takes_less_important_pods_of_its_own_namespace() -> None:
    case = Case(
        pod("low", "a", 1),
        pod("equal", "a", 5),
        pod("other", "b", 0),
        preemptor=pod("new", "a", 5, "3"),
    )
    assert case.victims() == ["low"]


def test_pods_without_a_quota_compete_with_one_another() -> None:
    case = Case(pod("free", "c", 1), pod("mine", "a", 1), preemptor=pod("new", "c", 5))
    assert case.victims() == ["free"]


def test_of_equals_the_last_one_goes_first_unless_they_have_not_started() -> None:
    started = {"status": {"startTime": "2026-03-01T12:00:00Z"}}
    for more, order in (({}, ["x", "y", "z"]), (started, ["z", "y", "x"])):
        pods = [pod(name, "c", 1, **more) for name in "xyz"]
        assert Case(*pods, preemptor=pod("new", "c", 5)).victims() == order


def test_of_equals_one_that_is_a_victim_already_goes_first() -> None:
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
    }
    chosen = pod("chosen", "b", status={"conditions": [target]})
    case = Case(pod("x", "b"), pod("y", "b"), chosen, preemptor=pod("p"), low="1")
    assert case.victims() == ["chosen", "x"]


def test_the_longest_running_of_equal_priority_goes_last() -> None:
    old = pod("old", "c", 1, status={"startTime": "2026-03-01T12:00:00Z"})
    new = pod("new", "c", 1, status={"startTime": "2026-03-02T12:00:00Z"})
    none = pod("none", "c", 1)
    assert Case(old, new, none, preemptor=pod("p", "c", 5)).victims() == ["none", "new", "old"]


@pytest.mark.parametrize(
    ("leaving", "preemptor", "expected"),
    [
        pytest.param(pod("x", "a", metadata=LEAVING), pod("p", "a", 5), True, id="its own"),
        pytest.param(pod("x", "a", 9, metadata=LEAVING), pod("p", "a", 5), False, id="important"),
        pytest.param(pod("x", "a"), pod("p", "a", 5), False, id="one that stays"),
        pytest.param(
            pod("x", "b", 9, "3", metadata=LEAVING), pod("p", "a"), True, id="one that borrowed"
        ),
        pytest.param(
            pod("x", "b", 9, "1", metadata=LEAVING), pod("p", "a"), False, id="one that did not"
        ),
        pytest.param(
            pod("x", "b", 0, "3", metadata=LEAVING), pod("p", "a", 5, "3"), False, id="beyond min"
        ),
        pytest.param(pod("x", "c", metadata=LEAVING), pod("p", "a", 5), False, id="without quota"),
        pytest.param(pod("x", "c", metadata=LEAVING), pod("p", "c", 5), True, id="both without"),
        pytest.param(pod("x", "a", metadata=LEAVING), pod("p", "c", 5), False, id="with a quota"),
    ],
)
def test_whose_leaving_makes_a_pod_wait(leaving: Pod, preemptor: Pod, expected: bool) -> None:
    assert Case(leaving, preemptor=preemptor).is_being_cleared() is expected


def test_a_pod_whose_pre_filter_did_not_run_may_not_preempt() -> None:
    case = Case(preemptor=pod("p"))
    statuses = NodeStatuses(case.scheduler.cache.nodes)
    assert case.policy.ineligible(CycleState(), pod("p"), statuses) == NOT_READ
    assert case.policy.ineligible(case.state, pod("p"), statuses) == ""
    never = pod("p", spec={"preemptionPolicy": "Never"})
    text = case.policy.ineligible(CycleState(), never, statuses)
    assert text == "not eligible due to preemptionPolicy=Never."


def test_a_node_is_refused_on_which_the_quotas_would_be_exceeded_anyway() -> None:
    big = Case(preemptor=pod("p", cpu="5"))
    assert big.policy.refusal(big.state, big.preemptor) is GLOBAL_MAX_EXCEEDED
    assert big.policy.must_go(big.state, big.preemptor)
    small = Case(preemptor=pod("p", cpu="1"))
    assert small.policy.refusal(small.state, small.preemptor) is None
    assert not small.policy.must_go(small.state, small.preemptor)
    free = Case(preemptor=pod("p", "c", cpu="50"))
    assert free.policy.refusal(free.state, free.preemptor) is None
