"""The record of what was tried for a group: its counts and its text."""

from __future__ import annotations

import pytest

from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup, TriedPlacement, TriedPod
from mooring.testing import make_composite_pod_group, make_pod, make_pod_group

TOO_FEW = Status.unschedulable("too few")


def leaf(name: str, *nodes: str, status: Status | None = None, rack: str = "") -> TriedGroup:
    """Return a pod group with one pod for each node name; "" is a pod without a node."""
    pods = [TriedPod(make_pod(f"{name}-{i}"), node) for i, node in enumerate(nodes)]
    only = TriedPlacement(rack, 2, pods, status, is_chosen=status is None)
    return TriedGroup(make_pod_group(name), status, [only], size=len(pods))


def composite(name: str, *parts: TriedGroup, status: Status | None = None) -> TriedGroup:
    only = TriedPlacement("", 2, (), status, is_chosen=status is None, parts=parts)
    return TriedGroup(make_composite_pod_group(name), status, [only], size=len(parts))


def test_pods_without_a_node_are_not_counted_as_placed() -> None:
    pods = [TriedPod(make_pod("a"), "n"), TriedPod(make_pod("b"), message="full")]
    assert TriedPlacement("r", 1, pods, TOO_FEW).placed == 1


def test_a_part_that_was_not_tried_does_not_fit() -> None:
    untried = TriedGroup(make_pod_group("g"), None, is_tried=False)
    assert not untried.fits
    assert TriedPlacement("", 1, (), None, parts=[untried, leaf("h", "n")]).placed == 1


def test_the_text_shows_the_whole_tree() -> None:
    inner = composite("inner", leaf("b", "", status=TOO_FEW), status=TOO_FEW)
    untried = TriedGroup(make_pod_group("c"), None, is_tried=False)
    assert str(composite("job", leaf("a", "n1", "n2", rack="r1"), inner, untried)) == (
        "job: 1 of 3 groups in all nodes\n"
        "  a: 2 of 2 pods in r1\n"
        "  inner: 0 of 1 groups: too few\n"
        "    b: 0 of 1 pods: too few\n"
        "  c: not tried"
    )


def test_a_group_that_was_refused_before_its_placements_has_only_a_message() -> None:
    refused = TriedGroup(make_pod_group("g"), Status.error("pods differ"))
    assert (refused.shown, refused.chosen, str(refused)) == (
        None,
        None,
        "g: 0 of 0 pods: pods differ",
    )


def test_groups_are_found_by_name_in_the_shown_placements() -> None:
    inner = composite("inner", leaf("b", "n"))
    job = composite("job", leaf("a", "n"), inner)
    assert job.find("b") is not None
    assert job.find("missing") is None
    assert job.chosen is not None
    assert job.chosen.part("inner") is inner
    with pytest.raises(KeyError, match="missing"):
        job.chosen.part("missing")


def test_the_message_is_about_the_chosen_placement_or_the_first() -> None:
    first, second = TriedPlacement("a", 1, (), TOO_FEW), TriedPlacement("b", 1, (), None)
    tried = TriedGroup(make_pod_group("g"), TOO_FEW, [first, second])
    assert tried.shown is first
    second.is_chosen = True
    assert tried.shown is second
