"""Which pods of a group are pending and which have a node."""

from __future__ import annotations

import pytest

from mooring.api import Pod
from mooring.framework.features import FeatureGates
from mooring.framework.pod_groups import PodGroups, has_pod_groups
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.framework.releases import parse_versions
from mooring.testing import make_pod, make_pod_group

GROUP = make_pod_group("g", min_count=2, priority=5)


def member(name: str, **fields: object) -> Pod:
    return make_pod(name, group="g", metadata={"uid": name}, **fields)  # type: ignore[arg-type]


def info(pod: Pod) -> PodInfo:
    return PodInfos(FeatureGates()).of(pod)


def counts(groups: PodGroups) -> tuple[int, int, int]:
    groups.validate()
    key = GROUP.key
    return groups.count(key), len(groups.pending(key)), len(groups.placed(key))


def test_a_pending_pod_that_is_assumed_and_forgotten_is_pending_again() -> None:
    groups, pod = PodGroups(), member("a")
    placed = info(member("a", node="n"))
    groups.set_pending(pod)
    assert counts(groups) == (1, 1, 0)
    groups.place(placed)
    assert counts(groups) == (1, 0, 1)
    groups.displace(placed)
    assert counts(groups) == (1, 1, 0)


def test_a_pod_that_was_bound_and_goes_is_gone() -> None:
    groups, placed = PodGroups(), info(member("a", node="n"))
    groups.set_pending(member("a"))
    groups.place(placed)
    groups.remove_pending(member("a"))
    groups.displace(placed)
    assert counts(groups) == (0, 0, 0)


def test_an_update_of_an_assumed_pod_does_not_make_it_pending() -> None:
    groups, placed = PodGroups(), info(member("a", node="n"))
    groups.place(placed)
    groups.set_pending(member("a"))
    assert counts(groups) == (1, 0, 1)


def test_pods_without_a_group_are_not_kept() -> None:
    groups, pod = PodGroups(), make_pod("p")
    groups.set_pending(pod)
    groups.place(info(pod))
    groups.displace(info(pod))
    groups.remove_pending(pod)
    assert counts(groups) == (0, 0, 0)


def test_the_priority_of_a_member_is_that_of_its_group() -> None:
    groups = PodGroups()
    assert groups.priority_of(info(member("a", priority=1))) == 1
    groups.set_group(GROUP)
    assert groups.of(member("a")) is GROUP
    assert groups.priority_of(info(member("a", priority=1))) == 5
    assert groups.priority_of(info(make_pod("p", priority=2))) == 2
    groups.remove_group(GROUP)
    assert groups.of(member("a")) is None


@pytest.mark.parametrize(
    ("gates", "release", "exist"),
    [
        pytest.param({}, "1.37", False, id="not without the gate"),
        pytest.param({"GenericWorkload": True}, "1.37", True, id="with the gate"),
        pytest.param({"GenericWorkload": True}, "1.36", False, id="never in 1.36"),
    ],
)
def test_when_pod_groups_exist(gates: dict[str, bool], release: str, exist: bool) -> None:
    features = FeatureGates(gates, parse_versions([release]))
    assert has_pod_groups(features) == exist
