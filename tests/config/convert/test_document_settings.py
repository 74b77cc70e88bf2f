"""The settings of older documents that belong to no profile."""

from __future__ import annotations

import pytest

from tests.config.convert.older import errors, older


@pytest.mark.parametrize(
    ("election", "expected"),
    [
        ({"lockObjectName": "a"}, {"resourceName": "a"}),
        ({"lockObjectNamespace": "a"}, {"resourceNamespace": "a"}),
        ({"lockObjectName": "a", "resourceName": "a"}, {"resourceName": "a"}),
        ({"lockObjectName": "", "resourceName": "a"}, {"resourceName": "a"}),
        ({"resourceLock": "endpoints"}, {"resourceLock": "leases"}),
    ],
    ids=str,
)
def test_the_lock_object_is_the_lease(election: dict[str, str], expected: dict[str, str]) -> None:
    assert older("v1alpha1", leaderElection=election).doc_v1["leaderElection"] == expected


def test_two_names_of_the_lock_must_agree() -> None:
    election = {"lockObjectName": "a", "resourceName": "b"}
    assert errors(older("v1alpha1", leaderElection=election)) == [
        "leaderElection.lockObjectName: ResourceName and LockObjectName are both set and do not "
        "match, ResourceName: b, LockObjectName: a"
    ]
