"""PodGroup of scheduling.x-k8s.io."""

from __future__ import annotations

from mooring.api import POD_GROUP_LABEL, PodGroup, decode, encode, pod_group_key, pod_group_name
from mooring.testing import make_pod

RAW = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "g", "namespace": "team"},
    "spec": {"minMember": 3, "minResources": {"cpu": "6"}, "scheduleTimeoutSeconds": 10},
    "status": {"phase": "Scheduling", "running": 2, "occupiedBy": "team/job"},
}


def test_a_pod_group_is_decoded_and_written() -> None:
    group = decode(RAW)
    assert isinstance(group, PodGroup)
    assert (group.spec.min_member, group.spec.schedule_timeout_seconds) == (3, 10)
    assert group.spec.min_resources == {"cpu": "6"}
    assert (group.status.phase, group.status.running) == ("Scheduling", 2)
    assert encode(group) == RAW


def test_an_absent_timeout_differs_from_0() -> None:
    group = decode({**RAW, "spec": {"minMember": 1}})
    assert isinstance(group, PodGroup)
    assert group.spec.schedule_timeout_seconds is None
    assert group.spec.min_resources is None


def test_the_label_names_the_group_in_the_pods_namespace() -> None:
    pod = make_pod("a", namespace="team", labels={POD_GROUP_LABEL: "g"})
    assert (pod_group_name(pod), pod_group_key(pod)) == ("g", "team/g")


def test_a_pod_without_the_label_has_no_group() -> None:
    for pod in (make_pod("a"), make_pod("b", labels={POD_GROUP_LABEL: ""})):
        assert (pod_group_name(pod), pod_group_key(pod)) == ("", "")
