"""Trees of groups: their tops, parts and leaves, and when they are complete."""

from __future__ import annotations

from mooring.api import AnyPodGroup
from mooring.framework.features import FeatureGates
from mooring.framework.pod_groups import PodGroups, known_pod_groups
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.testing import make_composite_pod_group, make_pod, make_pod_group

TOP = make_composite_pod_group("top", min_group_count=2, priority=7)
PART = make_composite_pod_group("part", parent="top", disruption_mode="all", priority=5)
LEFT = make_pod_group("left", parent="part", min_count=2, priority=3)
RIGHT = make_pod_group("right", parent="top", priority=3)
TREE = (TOP, PART, LEFT, RIGHT)


def known(*groups: AnyPodGroup, composites: bool = True) -> PodGroups:
    found = PodGroups(composites=composites)
    for group in groups:
        found.set_group(group)
    found.validate()
    return found


def placed(name: str, group: str) -> PodInfo:
    pod = make_pod(name, group=group, node="n", metadata={"uid": name}, priority=1)
    return PodInfos(FeatureGates()).of(pod)


def test_every_group_of_a_tree_has_the_same_top_in_whatever_order_they_come() -> None:
    for order in (TREE, TREE[::-1]):
        groups = known(*order)
        assert [groups.root(one) for one in TREE] == [TOP] * 4
        assert [one.name for one in groups.leaves(TOP)] == ["left", "right"]
        assert groups.children(TOP) == [PART, RIGHT]


def test_a_group_without_its_parent_has_no_top() -> None:
    groups = known(PART, LEFT, RIGHT)
    assert groups.root(LEFT) is None and groups.root_of("default/right") is None
    assert groups.root_of("default/unknown") is None
    assert groups.parent(LEFT) == PART and groups.parent(PART) is None
    groups.set_group(TOP)
    assert groups.root(LEFT) == TOP
    groups.remove_group(PART)
    assert groups.root(LEFT) is None
    assert [one.name for one in groups.leaves(TOP)] == ["right"]


def test_groups_that_name_each_other_have_no_top() -> None:
    ring = [
        make_composite_pod_group("a", parent="b"),
        make_composite_pod_group("b", parent="a"),
        make_pod_group("leaf", parent="a"),
    ]
    groups = known(*ring)
    assert [groups.root(one) for one in ring] == [None] * 3
    assert [one.name for one in groups.leaves(ring[0])] == ["leaf"]
    assert [one.name for one in groups.ancestry("default/leaf")] == ["leaf", "a", "b"]


def test_a_new_parent_takes_a_group_from_the_old_one() -> None:
    groups = known(*TREE)
    groups.set_group(make_pod_group("right", parent="part"))
    groups.validate()
    assert [one.name for one in groups.children(TOP)] == ["part"]
    assert groups.latest(RIGHT) == make_pod_group("right", parent="part")
    assert groups.latest(make_composite_pod_group("gone")) is None


def test_a_tree_has_a_quorum_if_enough_of_its_parts_have() -> None:
    groups = known(*TREE)
    pods = {"default/left": 2, "default/right": 1}
    assert groups.has_quorum(TOP, lambda key: pods[key])
    pods["default/left"] = 1
    assert groups.count_ready(TOP, lambda key: pods[key]) == 1
    assert not groups.has_quorum(TOP, lambda key: pods[key])
    assert groups.has_quorum(RIGHT, lambda key: pods[key])


def test_the_topmost_groups_decide_about_preemption() -> None:
    groups = known(*TREE)
    pods = [placed("a", "left"), placed("b", "left"), placed("c", "right")]
    for info in pods:
        groups.place(info)
    assert [groups.priority_of(info) for info in pods] == [7, 7, 7]
    assert groups.disrupted_whole(pods[0].pod) == PART
    assert groups.disrupted_whole(pods[2].pod) is None
    assert [info.uid for info in groups.disrupted_with(pods[0].pod)] == ["a", "b"]
    assert [info.uid for info in groups.placed_in(TOP)] == ["a", "b", "c"]
    groups.remove_group(TOP)
    assert groups.priority_of(pods[0]) == 5


def test_without_the_gate_a_group_stands_alone() -> None:
    groups = known(*TREE, composites=False)
    assert groups.root(LEFT) == LEFT
    gates = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
    found = known_pod_groups(FeatureGates(gates))
    assert found is not None and not found.has_composites
    found = known_pod_groups(FeatureGates({**gates, "CompositePodGroup": True}))
    assert found is not None and found.has_composites
    assert known_pod_groups(FeatureGates()) is None
