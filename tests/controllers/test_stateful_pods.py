from __future__ import annotations

from typing import Any

import pytest

from mooring.api import CustomResource, Pod
from mooring.api.kinds import decode_as, decode_raw
from mooring.controllers.stateful_pods import first_ordinal, make_claims, make_pod, ordinal_of
from tests.support.controllers import template, workload

CLAIM = {
    "metadata": {"name": "data", "labels": {"l": "1"}, "creationTimestamp": None},
    "spec": {"accessModes": ["ReadWriteOnce"]},
}


def _set(**spec: Any) -> CustomResource:
    made = workload("StatefulSet", "db", **spec)
    made["metadata"] |= {"namespace": "n", "uid": "u"}
    return decode_raw(made)


def test_numbers_begin_where_the_set_says() -> None:
    assert first_ordinal(_set()) == 0
    assert first_ordinal(_set(ordinals={"start": 5})) == 5


@pytest.mark.parametrize(
    ("name", "number"), [("db-0", 0), ("db-12", 12), ("web-1", -1), ("db-x", -1), ("db", -1)]
)
def test_the_number_of_a_pod(name: str, number: int) -> None:
    assert ordinal_of(_set(), decode_as({"metadata": {"name": name}}, Pod)) == number


def test_a_pod_has_a_name_and_a_host_of_its_own() -> None:
    pod = make_pod(_set(serviceName="svc"), 3, template(), "db-hash")
    assert pod["metadata"]["name"] == "db-3"
    assert pod["metadata"]["labels"] == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "db-3",
        "apps.kubernetes.io/pod-index": "3",
        "controller-revision-hash": "db-hash",
    }
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-3", "svc")
    assert "volumes" not in pod["spec"]
    assert "subdomain" not in make_pod(_set(), 3, template(), "h")["spec"]


def test_a_claim_takes_the_place_of_a_volume_of_its_name() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    pod = make_pod(_set(volumeClaimTemplates=[CLAIM]), 0, template(volumes=volumes), "h")
    assert pod["spec"]["volumes"] == [
        {"name": "tmp", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
    ]


def test_claims_of_a_pod() -> None:
    (claim,) = make_claims(_set(volumeClaimTemplates=[CLAIM]), 2)
    assert claim["metadata"] == {
        "name": "data-db-2",
        "namespace": "n",
        "labels": {"l": "1", "app": "web"},
    }
    assert claim["spec"] == CLAIM["spec"]
    assert make_claims(_set(), 2) == []


def test_claims_that_go_with_their_set_are_owned_by_it() -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    owned = _set(volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=policy)
    (claim,) = make_claims(owned, 0)
    (owner,) = claim["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("StatefulSet", "db", "u")
    assert "blockOwnerDeletion" not in owner
