"""The pod groups of scheduling.k8s.io, and which group a pod names."""

from __future__ import annotations

from mooring.api import WorkloadPodGroup, decode, encode, scheduling_group_key
from mooring.testing import make_pod, make_pod_group

GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "team"},
    "spec": {
        "schedulingPolicy": {"gang": {"minCount": 3}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": {"all": {}},
        "priority": 7,
    },
}


def test_the_two_kinds_named_pod_group_are_told_apart_by_their_version() -> None:
    group = decode(GROUP)
    assert type(group) is WorkloadPodGroup
    assert encode(group) == GROUP
    other = {**GROUP, "apiVersion": "scheduling.x-k8s.io/v1alpha1", "spec": {"minMember": 2}}
    assert type(decode(other)).__name__ == "PodGroup"


def test_what_a_group_says_of_itself() -> None:
    group = decode(GROUP)
    assert isinstance(group, WorkloadPodGroup)
    assert (group.min_count, group.priority, group.topology_key) == (3, 7, "rack")
    assert group.is_disrupted_whole


def test_what_a_group_says_that_has_the_basic_policy_and_nothing_else() -> None:
    group = make_pod_group()
    assert (group.min_count, group.priority, group.topology_key) == (1, 0, "")
    assert not group.is_disrupted_whole


def test_a_pod_names_a_group_of_its_namespace() -> None:
    assert scheduling_group_key(make_pod("p", namespace="team", group="g")) == "team/g"
    assert scheduling_group_key(make_pod("p")) == ""
