"""Find volumes for a pod's claims, on every node at once.

kube-scheduler asks for each node which volumes its pod would get there. The answer is the same on
all nodes that the same volumes can be reached from, so the nodes are kept in groups: all in one at
first, and split where a volume can be reached from some of a group only. The work grows with the
number of groups, not of nodes. Each group ends with what is to be done on its nodes, or with a
refusal.
"""

# kube-scheduler: plugins/volumebinding/binder.go (FindPodVolumes and what it calls)

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from mooring.api import (
    CSIDriver,
    CSIStorageCapacity,
    NodeTerms,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.api.quantity import value
from mooring.errors import ObjectError
from mooring.framework.columns import Codes, Mask
from mooring.framework.handle import Handle
from mooring.framework.nodes import Rows
from mooring.plugins.volumes import claims
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.csi_translation import (
    TranslationError,
    plugin_of,
    translated_affinity,
)
from mooring.plugins.volumes.matching import (
    Affinities,
    Candidates,
    find_candidates,
    requested_nanos,
)
from mooring.plugins.volumes.places import (
    Places,
    everywhere,
    in_allowed_topologies,
    in_terms,
    nowhere,
    positions,
    with_access,
)
from mooring.plugins.volumes.pod_claims import Binding, PodClaims, PodVolumes, Provision

BY_CLASS = "VolumeBinding/class"

#: Stands for "refused" where an index of a solution is expected.
NO_SOLUTION = -1


class Found(msgspec.Struct):
    """What was found for each node, by position."""

    #: A bound volume cannot be reached.
    node_conflict: Mask
    #: There is no volume to bind, and none can be made.
    bind_conflict: Mask
    #: A volume could be made, but for want of storage.
    no_space: Mask
    #: A bound volume does not exist.
    volume_missing: Mask
    #: Faults, and on which nodes they show.
    errors: list[tuple[str, Mask]]
    #: Index into `solutions`, or NO_SOLUTION.
    solution: Codes
    solutions: list[PodVolumes]


class _Group(msgspec.Struct):
    """Nodes that are alike so far."""

    rows: Rows
    bindings: tuple[Binding, ...]
    unmatched: tuple[PersistentVolumeClaim, ...]


class VolumeFinder:
    """Find volumes for claims. Owned by one plugin."""

    def __init__(
        self,
        handle: Handle,
        volumes: AssumedObjects[PersistentVolume],
        *,
        with_capacity: bool,
    ) -> None:
        self._volumes = volumes
        self._classes = handle.lister(StorageClass)
        self._drivers = handle.lister(CSIDriver)
        self._capacities = handle.lister(CSIStorageCapacity)
        self._affinities = Affinities()
        #: Whether solutions tell the storage that volumes are made of (scoring reads it).
        self._with_capacity = with_capacity
        volumes.lister.add_index(BY_CLASS, lambda volume: (claims.volume_class(volume),))
        self._capacities.add_index(BY_CLASS, lambda capacity: (capacity.storage_class_name,))

    def find(self, wanted: PodClaims, places: Places) -> Found:
        """Find volumes for a pod's claims on each node."""
        found = Found(
            node_conflict=nowhere(places),
            bind_conflict=nowhere(places),
            no_space=nowhere(places),
            volume_missing=nowhere(places),
            errors=[],
            solution=np.full(places.size, NO_SOLUTION, dtype=np.int32),
            solutions=[],
        )
        self._check_bound(wanted.bound, places, found)
        here = everywhere(places)
        to_match: list[PersistentVolumeClaim] = []
        selected: list[PersistentVolumeClaim] = []
        for claim in wanted.delayed:
            node_name = claim.metadata.annotations.get(claims.SELECTED_NODE)
            if node_name is None:
                to_match.append(claim)
            else:
                selected.append(claim)
                here &= places.named(node_name)
        found.bind_conflict |= ~here
        to_match.sort(key=requested_nanos)
        groups = [_Group(positions(here), (), ())]
        try:
            for claim in to_match:
                groups = list(self._match(claim, groups, places))
        except ObjectError as error:
            text = f"error creating internal label selector for claim: {claim.key}: {error}"
            found.errors.append((text, here))
            return found
        for group in groups:
            self._provision([*selected, *group.unmatched], group, places, found)
        refused = found.node_conflict | found.volume_missing
        found.solution[refused] = NO_SOLUTION
        return found

    def _check_bound(
        self, bound: list[PersistentVolumeClaim], places: Places, found: Found
    ) -> None:
        left = everywhere(places)
        for claim in bound:
            volume = self._volumes.get(claim.spec.volume_name)
            if volume is None:
                found.volume_missing |= left
                return
            allowed = self._reachable(volume, left, places, found)
            found.node_conflict |= left & ~allowed
            left = left & allowed

    def _reachable(
        self, volume: PersistentVolume, asked: Mask, places: Places, found: Found
    ) -> Mask:
        """Return from where a bound volume can be reached; an in-tree one may be CSI's by now."""
        plain = in_terms(self._affinities.of(volume), places)
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.migrated:
            return plain
        migrated = places.migrated(plugin.name)
        if not migrated.any():
            return plain
        try:
            selector = translated_affinity(plugin, volume)
        except TranslationError as error:
            found.errors.append((f"could not translate pv: {error}", migrated & asked))
            return plain
        terms = None if selector is None else NodeTerms.parse(selector)
        return np.where(migrated, in_terms(terms, places), plain)

    def _match(
        self, claim: PersistentVolumeClaim, groups: list[_Group], places: Places
    ) -> Iterator[_Group]:
        """Split groups by the volume that a claim is bound to on their nodes."""
        candidates = find_candidates(
            claim, self._volumes.by_index(BY_CLASS, claims.claim_class(claim))
        )
        allowed: dict[str, Mask] = {}
        for group in groups:
            yield from self._split(claim, candidates, group, places, allowed)

    def _split(
        self,
        claim: PersistentVolumeClaim,
        candidates: Candidates,
        group: _Group,
        places: Places,
        allowed: dict[str, Mask],
    ) -> Iterator[_Group]:
        taken = {binding.volume.metadata.name for binding in group.bindings}
        rows = group.rows
        bound = [volume for volume in candidates.bound if volume.metadata.name not in taken]
        # A volume that is bound to the claim is the only choice, even where it cannot be reached.
        for volume in bound[:1] or candidates.free:
            name = volume.metadata.name
            if name in taken:
                continue
            mask = allowed.get(name)
            if mask is None:
                mask = allowed[name] = in_terms(self._affinities.of(volume), places)
            reached = mask[rows]
            if reached.any():
                binding = Binding(claim, volume)
                yield _Group(rows[reached], (*group.bindings, binding), group.unmatched)
                rows = rows[~reached]
                if not len(rows):
                    return
        if len(rows):
            yield _Group(rows, group.bindings, (*group.unmatched, claim))

    def _provision(
        self,
        wanted: list[PersistentVolumeClaim],
        group: _Group,
        places: Places,
        found: Found,
    ) -> None:
        """Check that the claims left can be provisioned, and note what is to be done."""
        bindings = list(group.bindings)
        left: list[tuple[Rows, tuple[Provision, ...]]] = [(group.rows, ())]
        for claim in wanted:
            name = claims.claim_class(claim)
            storage_class = self._classes.get(name)
            if storage_class is None:
                for rows, _ in left:
                    text = f'failed to find storage class "{name}"'
                    found.errors.append((text, _mask(rows, places)))
                return
            if storage_class.provisioner in ("", claims.NO_PROVISIONER):
                for rows, _ in left:
                    found.bind_conflict[rows] = True
                return
            topology = in_allowed_topologies(storage_class, places)
            split = []
            for rows, provisions in left:
                allowed = topology[rows]
                found.bind_conflict[rows[~allowed]] = True
                rows = rows[allowed]
                for some, capacity in self._with_space(claim, storage_class, rows, places):
                    split.append((some, (*provisions, Provision(claim, capacity))))
                    rows = np.setdiff1d(rows, some, assume_unique=True)
                found.no_space[rows] = True
            left = split
        for rows, provisions in left:
            if len(rows):
                found.solution[rows] = len(found.solutions)
                found.solutions.append(PodVolumes(bindings, list(provisions)))

    def _with_space(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        rows: Rows,
        places: Places,
    ) -> Iterator[tuple[Rows, CSIStorageCapacity | None]]:
        """Split rows by the storage a claim's volume would come from; leave out those without."""
        requested = claim.spec.resources.requests.get(claims.STORAGE)
        driver = self._drivers.get(storage_class.provisioner)
        if requested is None or driver is None or not driver.spec.storage_capacity:
            yield rows, None
            return
        size = value(requested)
        enough: list[Rows] = []
        for capacity in self._capacities.by_index(BY_CLASS, storage_class.metadata.name):
            if not len(rows):
                break
            if volume_limit(capacity) < size:
                continue
            access = with_access(capacity, places)[rows]
            if access.any():
                if self._with_capacity:
                    yield rows[access], capacity
                else:
                    enough.append(rows[access])
                rows = rows[~access]
        if enough:
            yield np.concatenate(enough), None


def volume_limit(capacity: CSIStorageCapacity) -> int:
    """Return the largest volume that a CSIStorageCapacity allows; -1 where it does not say."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return -1 if limit is None else value(limit)


def _mask(rows: Rows, places: Places) -> Mask:
    mask = nowhere(places)
    mask[rows] = True
    return mask
