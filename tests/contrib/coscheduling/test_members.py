"""The pods of each group, counted as they come and go."""

from __future__ import annotations

from typing import Any

from mooring.api import POD_GROUP_LABEL, Pod
from mooring.contrib.coscheduling.members import Members
from mooring.testing import make_pod


def member(name: str, group: str = "g", **more: Any) -> Pod:
    labels = {POD_GROUP_LABEL: group} if group else {}
    return make_pod(name, namespace="team", labels=labels, **more)


def test_members_are_counted_by_group() -> None:
    members = Members()
    for pod in (member("a"), member("b"), member("c", "h"), member("d", "")):
        members.add(pod)
    assert members.count("team/g") == (2, 0)
    assert members.count("team/h") == (1, 0)
    assert members.count("team/none") == (0, 0)
    assert [pod.name for pod in members.of("team/g")] == ["a", "b"]


def test_gated_members_are_counted_too() -> None:
    members = Members()
    gated = member("a", gates=["wait"])
    members.add(gated)
    members.add(member("b"))
    assert members.count("team/g") == (2, 1)
    members.update(gated, member("a"))
    assert members.count("team/g") == (2, 0)


def test_a_member_that_is_gone_no_longer_counts() -> None:
    members = Members()
    members.add(member("a", gates=["wait"]))
    members.remove(member("a"))
    assert members.count("team/g") == (0, 0)
    assert list(members.of("team/g")) == []
    members.remove(member("a"))
    assert members.count("team/g") == (0, 0)


def test_a_member_that_changes_its_group_moves() -> None:
    members = Members()
    members.add(member("a"))
    members.update(member("a"), member("a", "h"))
    assert (members.count("team/g"), members.count("team/h")) == ((0, 0), (1, 0))
