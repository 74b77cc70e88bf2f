"""What binding changes in claims and volumes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import PersistentVolume, PersistentVolumeClaim, encode
from mooring.controlplane.bound_volumes import (
    BOUND,
    bound_claim,
    bound_volume,
    may_bind,
    with_phase,
)
from tests.plugins.volumes.storage import claim, volume

COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


def to_claim(name: str = "c", **more: Any) -> dict[str, Any]:
    return {"claimRef": {"name": name, "namespace": "default", **more}}


def naming(name: str, made: PersistentVolumeClaim) -> PersistentVolumeClaim:
    return replace(made, spec=replace(made.spec, volume_name=name))


def test_volume_is_bound_by_the_controller() -> None:
    bound = bound_volume(volume("v"), claim("c"))
    assert bound.status.phase == BOUND
    assert bound.metadata.annotations == {BY_CONTROLLER: "yes"}
    assert bound.spec.claim_ref is not None and bound.spec.claim_ref.uid == "uid-c"
    assert bound_volume(bound, claim("c")) is bound


def test_volume_that_a_user_bound_gets_the_uid_alone() -> None:
    bound = bound_volume(volume("v", **to_claim()), claim("c"))
    assert bound.metadata.annotations == {}
    assert bound.spec.claim_ref is not None and bound.spec.claim_ref.uid == "uid-c"


def test_claim_takes_size_and_modes_of_its_volume() -> None:
    bound = bound_claim(claim("c"), volume("v", "3Gi", modes=("ReadWriteOnce", "ReadOnlyMany")))
    assert bound.spec.volume_name == "v"
    assert bound.metadata.annotations == {COMPLETED: "yes", BY_CONTROLLER: "yes"}
    assert encode(bound)["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "capacity": {"storage": "3Gi"},
    }


def test_claim_that_named_its_volume_was_not_bound_by_the_controller() -> None:
    bound = bound_claim(naming("v", claim("c")), volume("v"))
    assert bound.metadata.annotations == {COMPLETED: "yes"}


def test_bound_claim_keeps_its_size() -> None:
    bound = bound_claim(claim("c"), volume("v", "3Gi"))
    assert bound_claim(bound, volume("v", "9Gi")) == bound


def test_claim_takes_the_attributes_class_of_its_volume() -> None:
    bound = bound_claim(claim("c"), volume("v", volumeAttributesClassName="gold"))
    assert bound.status.current_volume_attributes_class_name == "gold"


def test_other_phase_has_no_message() -> None:
    failed = replace(volume("v"), status=replace(volume("v").status, message="broken"))
    assert encode(with_phase(failed, "Released"))["status"] == {"phase": "Released"}


@pytest.mark.parametrize(
    ("wanted", "offered", "expected"),
    [
        pytest.param(claim("c"), volume("v", **to_claim()), True, id="volume names the claim"),
        pytest.param(claim("c"), volume("v"), False, id="neither names the other"),
        pytest.param(
            claim("c"), volume("v", **to_claim(uid="old")), False, id="volume of an earlier claim"
        ),
        pytest.param(claim("c", "2Gi"), volume("v", **to_claim()), False, id="volume is too small"),
        pytest.param(naming("v", claim("c")), volume("v"), True, id="claim names the volume"),
        pytest.param(
            naming("v", claim("c")), volume("v", **to_claim("d")), False, id="volume of another"
        ),
        pytest.param(
            naming("w", claim("c")), volume("v", **to_claim()), False, id="claim names another"
        ),
    ],
)
def test_claims_and_volumes_agree(
    wanted: PersistentVolumeClaim, offered: PersistentVolume, expected: bool
) -> None:
    assert may_bind(wanted, offered) is expected
