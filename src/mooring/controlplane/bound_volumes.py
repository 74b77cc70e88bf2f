"""Binding of claims and volumes: what the volume controller changes once a scheduler has chosen."""

# kubernetes: pkg/controller/volume/persistentvolume/pv_controller.go

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import PersistentVolume, PersistentVolumeClaim
from mooring.api.volume_claims import BIND_COMPLETED, BOUND_BY_CONTROLLER, bind_to, is_bound_to
from mooring.api.volume_matching import find_candidates

AVAILABLE, BOUND, LOST, RELEASED = "Available", "Bound", "Lost", "Released"


def may_bind(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Return whether a claim may be bound to a volume that it names, or that names the claim."""
    if claim.spec.volume_name:
        return claim.spec.volume_name == volume.metadata.name and (
            volume.spec.claim_ref is None or is_bound_to(volume, claim)
        )
    return bool(find_candidates(claim, (volume,)).bound)


def with_phase(volume: PersistentVolume, phase: str) -> PersistentVolume:
    """Return a volume in another phase."""
    return replace(volume, status=replace(volume.status, phase=phase, message=""))


def bound_volume(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume bound to a claim. It is written before the claim."""
    volume = bind_to(volume, claim)
    return volume if volume.status.phase == BOUND else with_phase(volume, BOUND)


def bound_claim(claim: PersistentVolumeClaim, volume: PersistentVolume) -> PersistentVolumeClaim:
    """Return a claim bound to a volume that has been bound to it.

    The annotation of a binding by the controller is missing if the claim named the volume before.
    """
    marks = dict(claim.metadata.annotations)
    marks.setdefault(BIND_COMPLETED, "yes")
    name = volume.metadata.name
    if claim.spec.volume_name != name:
        marks.setdefault(BOUND_BY_CONTROLLER, "yes")
    status = replace(claim.status, access_modes=volume.spec.access_modes)
    if status.phase != BOUND:
        attributes = volume.spec.volume_attributes_class_name
        status = replace(
            status,
            phase=BOUND,
            capacity=volume.spec.capacity,
            current_volume_attributes_class_name=attributes,
        )
    return replace(
        claim,
        metadata=replace(claim.metadata, annotations=marks),
        spec=replace(claim.spec, volume_name=name),
        status=status,
    )
