"""The settings of older documents that belong to no profile."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert import Converted, convert


def alpha(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        **fields,
    }


def errors(converted: Converted) -> list[str]:
    return [str(error) for error in converted.errors]


def profile(converted: Converted) -> dict[str, Any]:
    assert errors(converted) == []
    (only,) = converted.doc_v1["profiles"]
    return only


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
    assert convert(alpha(leaderElection=election)).doc_v1["leaderElection"] == expected


def test_two_names_of_the_lock_must_agree() -> None:
    election = {"lockObjectName": "a", "resourceName": "b"}
    assert errors(convert(alpha(leaderElection=election))) == [
        "leaderElection.lockObjectName: ResourceName and LockObjectName are both set and do not "
        "match, ResourceName: b, LockObjectName: a"
    ]
