"""Which persistent volumes a claim can be bound to, regardless of the node."""

# component-helpers: storage/volume/pv_helpers.go (FindMatchingVolume)

from __future__ import annotations

from collections.abc import Hashable, Iterable

import msgspec

from mooring.api import PersistentVolume, PersistentVolumeClaim, Selector
from mooring.api.quantity import parse_nanos
from mooring.api.volume_claims import (
    FILESYSTEM,
    STORAGE,
    claim_class,
    is_bound_to,
    volume_class,
)

_AVAILABLE = "Available"


class MatchingVolumes(msgspec.Struct, frozen=True):
    """The volumes that match a claim."""

    #: Volumes already bound to the claim: if there are any, only the first can be used.
    bound: tuple[PersistentVolume, ...]
    #: Other volumes, smallest first; those of equal size by name.
    free: tuple[PersistentVolume, ...]


def requested_nanos(claim: PersistentVolumeClaim) -> int:
    """Return the storage that a claim asks for, in billionths."""
    return parse_nanos(claim.spec.resources.requests.get(STORAGE, 0))


def capacity_nanos(volume: PersistentVolume) -> int:
    """Return the size of a volume, in billionths."""
    return parse_nanos(volume.spec.capacity.get(STORAGE, 0))


def claim_shape(claim: PersistentVolumeClaim) -> Hashable:
    """Return what decides which volumes match a claim, apart from its name and class."""
    spec = claim.spec
    return (
        requested_nanos(claim),
        spec.volume_mode,
        spec.volume_attributes_class_name,
        None if spec.selector is None else msgspec.json.encode(spec.selector),
        tuple(spec.access_modes),
    )


def find_candidates(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]
) -> MatchingVolumes:
    """Return the volumes that match a claim; the caller checks node affinity.

    A selector that cannot be parsed raises ObjectError.
    """
    spec = claim.spec
    requested = requested_nanos(claim)
    mode = spec.volume_mode or FILESYSTEM
    attributes = spec.volume_attributes_class_name or ""
    wanted_class = claim_class(claim)
    selector = None if spec.selector is None else Selector.from_label_selector(spec.selector)
    modes = frozenset(spec.access_modes)
    bound: list[PersistentVolume] = []
    free: list[tuple[int, str, PersistentVolume]] = []
    for volume in volumes:
        its = volume.spec
        to_claim = its.claim_ref is not None and is_bound_to(volume, claim)
        if its.claim_ref is not None and not to_claim:
            continue
        size = capacity_nanos(volume)
        if (
            size < requested
            or (its.volume_mode or FILESYSTEM) != mode
            or (its.volume_attributes_class_name or "") != attributes
            or volume.metadata.deletion_timestamp is not None
        ):
            continue
        if to_claim:
            bound.append(volume)
        elif (
            volume.status.phase == _AVAILABLE
            and volume_class(volume) == wanted_class
            and (selector is None or selector.matches(volume.metadata.labels))
            and modes.issubset(its.access_modes)
        ):
            free.append((size, volume.metadata.name, volume))
    free.sort(key=lambda found: found[:2])
    return MatchingVolumes(tuple(bound), tuple(volume for _, _, volume in free))
