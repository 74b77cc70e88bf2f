"""Which pods are preempted together, and which of them are more important."""

from __future__ import annotations

from mooring.framework.features import FeatureGates
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.preemption.units import Unit, units_below
from mooring.testing import make_pod, make_pod_group

INFOS = PodInfos(FeatureGates())


def placed(name: str, group: str = "", priority: int = 0) -> PodInfo:
    pod = make_pod(name, node="n", group=group, priority=priority, metadata={"uid": name})
    return INFOS.of(pod)


def names(units: list[Unit]) -> list[list[str]]:
    return [[info.pod.name for info in unit.pods] for unit in units]


def test_a_group_that_is_disrupted_whole_is_one_unit_with_its_pods_everywhere() -> None:
    groups = PodGroups()
    groups.set_group(make_pod_group("all", priority=3, disruption_mode="all"))
    groups.set_group(make_pod_group("one", priority=3))
    pods = [placed("a", "all"), placed("b", "all"), placed("c", "one"), placed("d", "one")]
    for info in pods:
        groups.place(info)
    seen = [pods[0], *pods[2:], placed("single", priority=1)]
    assert names(units_below(seen, groups, 5)) == [["a", "b"], ["c"], ["d"], ["single"]]


def test_the_priority_of_the_group_decides_and_not_that_of_the_pod() -> None:
    groups = PodGroups()
    groups.set_group(make_pod_group("high", priority=9))
    found = units_below([placed("a", "high", priority=1), placed("b", priority=4)], groups, 5)
    assert names(found) == [["b"]]
    assert units_below([placed("b", priority=5)], groups, 5) == []


def test_priority_then_kind_then_size_then_age_make_a_unit_important() -> None:
    one, two = (placed("a"),), (placed("a"), placed("b"))
    old = make_pod("old", node="n", status={"startTime": "2020-01-01T00:00:00Z"})
    units = [
        Unit(one, 1),
        Unit((INFOS.of(old),), 1),
        Unit(one, 1, rank=1),
        Unit(two, 1, rank=1),
        Unit(one, 1, rank=2),
        Unit(one, 2),
    ]
    assert sorted(units, key=lambda unit: unit.importance) == units[::-1]
