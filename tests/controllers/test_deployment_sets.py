"""How large the ReplicaSets of a Deployment may be, and which revision they have."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import CustomResource
from mooring.api.kinds import decode_raw
from mooring.controllers import deployment_sets as sets_of
from tests.support.controllers import template, workload


def deployment(replicas: int, surge: Any = "25%", missing: Any = "25%", **more: Any):  # type: ignore[no-untyped-def]
    rolling = {"maxSurge": surge, "maxUnavailable": missing}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return decode_raw(workload("Deployment", "web", replicas=replicas, strategy=strategy, **more))


def replica_set(name: str, replicas: int, **annotations: Any) -> CustomResource:
    made = workload("ReplicaSet", name, replicas=replicas)
    keys = {"maximum": sets_of.MAXIMUM, "desired": sets_of.DESIRED, "revision": sets_of.REVISION}
    made["metadata"]["annotations"] = {keys[key]: str(one) for key, one in annotations.items()}
    made["metadata"]["creationTimestamp"] = f"2024-01-01T00:00:0{len(name)}Z"
    return decode_raw(made)


@pytest.mark.parametrize(
    ("replicas", "surge", "missing", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (3, 0, 0, (0, 1)),
        (2, 5, 5, (5, 2)),
        (0, "25%", "25%", (0, 0)),
    ],
    ids=[
        "surge rounds up and loss rounds down",
        "one pod is never lost",
        "something must move",
        "no more are lost than there are",
        "of nothing nothing",
    ],
)
def test_so_many_pods_may_be_there_or_missing(
    replicas: int, surge: Any, missing: Any, expected: tuple[int, int]
) -> None:
    assert sets_of.fenceposts(deployment(replicas, surge, missing)) == expected


def test_a_new_set_grows_into_the_room_that_the_surge_leaves() -> None:
    wanted = deployment(10, 3, 2)
    old = replica_set("old", 10)
    assert sets_of.new_size(wanted, [old], None) == 3
    new = replica_set("newer", 3)
    assert sets_of.new_size(wanted, [old, new], new) == 3
    assert sets_of.new_size(wanted, [replica_set("old", 5), new], new) == 8


@pytest.mark.parametrize(
    ("size", "before", "sizes"),
    [
        (20, (8, 5), {"old": 16, "newer": 9}),
        (5, (8, 5), {"old": 4, "newer": 3}),
        (0, (8, 5), {"old": 0, "newer": 0}),
    ],
    ids=["up", "down", "to nothing"],
)
def test_a_rollout_under_way_is_scaled_in_proportion(
    size: int, before: tuple[int, int], sizes: dict[str, int]
) -> None:
    # Ten replicas with a surge of three, then another size.
    wanted = deployment(size, "25%", "25%")
    sets = [
        replica_set("old", before[0], maximum=13),
        replica_set("newer", before[1], maximum=13),
    ]
    found = {one.metadata.name: many for one, many in sets_of.proportional_sizes(wanted, sets)}
    surge = sets_of.fenceposts(wanted)[0] if size else 0
    assert sum(found.values()) == size + surge
    assert all(abs(found[name] - many) <= 1 for name, many in sizes.items())


def test_the_new_set_is_the_oldest_of_the_same_template() -> None:
    wanted = deployment(1)
    other = decode_raw(workload("ReplicaSet", "x", template=template("image:2")))
    first, second = replica_set("a", 1), replica_set("bb", 1)
    assert sets_of.find_new(wanted, [second, other, first]) is first
    assert sets_of.find_new(wanted, [other]) is None


def test_a_template_that_comes_back_gets_a_new_revision_and_keeps_its_history() -> None:
    wanted = deployment(1)
    known = {sets_of.REVISION: "2", sets_of.REVISION_HISTORY: "1"}
    made = sets_of.new_annotations(wanted, known, 5)
    assert made == {sets_of.REVISION: "5", sets_of.REVISION_HISTORY: "1,2"}
    assert sets_of.new_annotations(wanted, made, 5) == made


def test_a_deployment_was_scaled_when_its_sets_noted_another_size() -> None:
    wanted = deployment(3)
    assert sets_of.is_scaling(wanted, [replica_set("a", 2, desired=2)])
    assert not sets_of.is_scaling(wanted, [replica_set("a", 2, desired=3)])
    assert not sets_of.is_scaling(wanted, [replica_set("a", 0, desired=2)])
