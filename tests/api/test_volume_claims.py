from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolume
from mooring.api import volume_claims as claims
from tests.plugins.clusters import make_pod
from tests.plugins.volumes.storage import claim, owned_by, pod_with, volume

OLD_CLASS = {"volume.beta.kubernetes.io/storage-class": "old"}
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


def test_the_old_annotation_names_the_class() -> None:
    assert claims.claim_class(claim("c", annotations=OLD_CLASS)) == "old"
    assert claims.claim_class(claim("c")) == "local"
    assert claims.claim_class(claim("c", storage_class=None)) == ""
    assert claims.volume_class(volume("v", annotations=OLD_CLASS)) == "old"
    assert claims.volume_class(volume("v")) == "local"


def _reference(**more: str) -> dict[str, Any]:
    return {"claimRef": {"namespace": "default", "name": "c", **more}}


@pytest.mark.parametrize(
    ("found", "bound"),
    [
        pytest.param(volume("v"), False, id="free"),
        pytest.param(volume("v", **_reference()), True, id="without a uid"),
        pytest.param(volume("v", **_reference(uid="uid-c")), True, id="with the claim's uid"),
        pytest.param(volume("v", **_reference(uid="other")), False, id="with another uid"),
        pytest.param(volume("v", **_reference(name="d")), False, id="with another name"),
        pytest.param(volume("v", **_reference(namespace="d")), False, id="in another namespace"),
    ],
)
def test_whom_a_volume_is_bound_to(found: PersistentVolume, bound: bool) -> None:
    assert claims.is_bound_to(found, claim("c")) is bound


def test_binding_a_free_volume_names_the_claim_and_the_binder() -> None:
    free = volume("v", annotations={"kept": "yes"})
    bound = claims.bind_to(free, claim("c", metadata={"resourceVersion": "3"}))
    assert free.spec.claim_ref is None
    reference = bound.spec.claim_ref
    assert reference is not None
    assert (reference.kind, reference.api_version) == ("PersistentVolumeClaim", "v1")
    assert (reference.namespace, reference.name) == ("default", "c")
    assert (reference.uid, reference.resource_version) == ("uid-c", "3")
    assert bound.metadata.annotations == {"kept": "yes", BY_CONTROLLER: "yes"}


def test_binding_a_volume_that_a_user_bound_leaves_the_user_the_binder() -> None:
    bound = claims.bind_to(volume("v", **_reference()), claim("c"))
    assert bound.spec.claim_ref is not None
    assert bound.spec.claim_ref.uid == "uid-c"
    assert bound.metadata.annotations == {}


def test_binding_twice_changes_nothing() -> None:
    bound = claims.bind_to(volume("v"), claim("c"))
    assert claims.bind_to(bound, claim("c")) is bound


def test_only_the_owner_may_use_an_ephemeral_claim() -> None:
    pod = make_pod("p")
    assert claims.not_created_for(pod, claim("p-e", metadata=owned_by("p"))) == ""
    assert claims.not_created_for(pod, claim("p-e", metadata=owned_by("q"))) != ""
    elsewhere = claim("p-e", namespace="else", metadata=owned_by("p"))
    assert claims.not_created_for(pod, elsewhere) == (
        "PVC else/p-e was not created for pod default/p (pod is not owner)"
    )


def test_pods_with_the_same_volumes_sign_alike() -> None:
    def sign(*volumes: Any) -> tuple[str, ...] | None:
        return claims.sign_volumes(make_pod("p", volumes=list(volumes)))

    disk = {"name": "a", "gcePersistentDisk": {"pdName": "d"}}
    empty = {"name": "b", "emptyDir": {}}
    config = {"name": "c", "configMap": {"name": "x"}}
    secret = {"name": "d", "secret": {"secretName": "x"}}
    assert sign(disk, empty, config) == sign({**empty, "name": "z"}, secret, disk)
    assert sign(disk) != sign({"name": "a", "gcePersistentDisk": {"pdName": "e"}})
    assert sign(config, secret) == ()
    assert claims.sign_volumes(pod_with("c")) is None
    assert sign({"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}) is None
