"""Finding volumes for a pod's claims, on every node at once.

kube-scheduler determines for each node which volumes the pod would get there. Here, for each
volume, the nodes that reach it are looked up, and each node takes the first volume that fits: for a
claim, the volumes are listed in order of preference with the nodes that reach them, and one pass
sets the choice of every node. The work grows with the volumes and the nodes that reach each, not
with the product of volumes and nodes.
"""

# kube-scheduler: plugins/volumebinding/binder.go (FindPodVolumes and what it calls)

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence

import msgspec
import numpy as np

from mooring.api import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from mooring.api import volume_claims as claims
from mooring.api.quantity import value
from mooring.api.volume_matching import claim_shape, find_candidates, requested_nanos
from mooring.errors import ObjectError
from mooring.framework.handle import Handle
from mooring.plugins.volumes.affinities import Affinities
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.csi_translation import (
    TranslationError,
    plugin_of,
    translated_affinity,
)
from mooring.plugins.volumes.pod_volume_claims import (
    Binding,
    PodVolumeClaims,
    PodVolumes,
    Provision,
)
from mooring.plugins.volumes.reachability import (
    NONE,
    Ids,
    NodePositions,
    Terms,
    everywhere,
    first_reached,
    nowhere,
    selector_terms,
    topology_terms,
    within,
)
from mooring.typing import Ints, Mask

BY_CLASS = "VolumeBinding/class"
#: With more claims than this, volumes that are used up on all nodes are dropped, so that not every
#: claim has to compare its choices with those of all others.
_FEW = 8


class Match(msgspec.Struct):
    """A claim, and the volume that each node would bind it to."""

    claim: PersistentVolumeClaim
    #: Index into `Found.volumes`, or NONE.
    choice: Ids
    #: Whether every node that reaches one of these volumes has taken it.
    gone: bool = False


class Space(msgspec.Struct):
    """A claim to be provisioned, and the storage for it on each node, if that is checked."""

    claim: PersistentVolumeClaim
    capacities: list[CSIStorageCapacity] = []
    #: Per node, an index into `capacities`, or NONE if no capacity is large enough. The attribute
    #: is None if capacity is not checked.
    choice: Ids | None = None


class Found(msgspec.Struct):
    """What was found for each node, by position."""

    #: Nodes that cannot reach a bound volume.
    node_conflict: Mask
    #: Nodes for which there is no volume to bind, and none can be provisioned.
    bind_conflict: Mask
    #: Nodes without enough storage to provision a volume.
    no_space: Mask
    #: Nodes refused because a bound volume does not exist.
    volume_missing: Mask
    #: Index into `plans`: which claims are to be provisioned; NONE if the node is refused.
    plan: Ids
    plans: list[list[Space]] = []
    matches: list[Match] = []
    volumes: list[PersistentVolume] = []
    #: Index of each volume by name.
    numbers: dict[str, int] = {}
    #: Indexes of volumes that every node which reaches them has taken.
    gone: set[int] = set()
    #: Errors, and the nodes they apply to.
    errors: list[tuple[str, Mask]] = []

    def number(self, volume: PersistentVolume) -> int:
        """Return the index of a volume, so that claims can compare their choices."""
        number = self.numbers.setdefault(volume.metadata.name, len(self.volumes))
        if number == len(self.volumes):
            self.volumes.append(volume)
        return number

    def at(self, position: int) -> PodVolumes | None:
        """Return the bindings and provisions for a node, or None if it is refused."""
        plan = int(self.plan[position])
        if plan == NONE:
            return None
        found = PodVolumes()
        for match in self.matches:
            chosen = int(match.choice[position])
            if chosen != NONE:
                found.bindings.append(Binding(match.claim, self.volumes[chosen]))
        for space in self.plans[plan]:
            capacity = None
            if space.choice is not None:
                capacity = space.capacities[int(space.choice[position])]
            found.provisions.append(Provision(space.claim, capacity))
        return found

    def scores(self, score: Callable[[PodVolumes], int]) -> Ints:
        """Score every node, calling `score` once for nodes that are alike; refused ones get 0."""
        columns = [self.plan, *(match.choice for match in self.matches)]
        columns += [
            space.choice for plan in self.plans for space in plan if space.choice is not None
        ]
        _, examples, alike = np.unique(
            np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True
        )
        answers = []
        for position in examples.tolist():
            volumes = self.at(position)
            answers.append(0 if volumes is None else score(volumes))
        scores: Ints = np.array(answers, dtype=np.int64)[alike.reshape(-1)]
        return scores


class Shelf:
    """The volumes that fit a claim."""

    def __init__(
        self, bound: Sequence[PersistentVolume], free: Iterable[tuple[int, Terms]]
    ) -> None:
        self.bound = bound
        #: (index of the volume, terms of the nodes that reach it), in order of preference.
        self.free = tuple(free)
        self._groups: dict[Terms, deque[int]] | None = None

    def first(self, count: int, gone: Container[int]) -> Sequence[tuple[int, Terms]]:
        """For each distinct reach (terms), return the first `count` volumes that are not gone.

        The result is in order of preference.
        """
        if not gone and count >= len(self.free):
            return self.free
        if self._groups is None:
            self._groups = {}
            for place, (_, terms) in enumerate(self.free):
                self._groups.setdefault(terms, deque()).append(place)
        places: list[int] = []
        for group in self._groups.values():
            while group and self.free[group[0]][0] in gone:
                group.popleft()
            left = (place for place in group if self.free[place][0] not in gone)
            places += itertools.islice(left, count)
        return [self.free[place] for place in sorted(places)]


class Shelves:
    """The volumes that fit the claims of one pod; claims with equal demands share a shelf."""

    def __init__(
        self, volumes: AssumedObjects[PersistentVolume], affinities: Affinities, found: Found
    ) -> None:
        self._volumes = volumes
        self._affinities = affinities
        self._found = found
        self._shared: dict[Hashable, Shelf] = {}
        #: By class: the keys of the claims that volumes name.
        self._named: dict[str, set[tuple[str, str]]] = {}

    def of(self, claim: PersistentVolumeClaim) -> Shelf:
        """Return the volumes that fit a claim; raise ObjectError if its selector is malformed."""
        name = claims.claim_class(claim)
        named = self._named.get(name)
        if named is None:
            named = self._named[name] = {
                (reference.namespace, reference.name)
                for volume in self._volumes.by_index(BY_CLASS, name)
                if (reference := volume.spec.claim_ref) is not None
            }
        if (claim.metadata.namespace, claim.metadata.name) in named:
            return self._make(claim, name)
        shape = (name, claim_shape(claim))
        shelf = self._shared.get(shape)
        if shelf is None:
            shelf = self._shared[shape] = self._make(claim, name)
        return shelf

    def _make(self, claim: PersistentVolumeClaim, name: str) -> Shelf:
        candidates = find_candidates(claim, self._volumes.by_index(BY_CLASS, name))
        number, reach = self._found.number, self._affinities.of
        return Shelf(
            candidates.bound, ((number(volume), reach(volume)) for volume in candidates.free)
        )


class VolumeFinder:
    """The search for volumes that fit claims. Owned by one plugin."""

    def __init__(self, handle: Handle, volumes: AssumedObjects[PersistentVolume]) -> None:
        self._volumes = volumes
        self._classes = handle.lister(StorageClass)
        self._drivers = handle.lister(CSIDriver)
        self._capacities = handle.lister(CSIStorageCapacity)
        self._affinities = Affinities()
        volumes.lister.add_index(BY_CLASS, lambda volume: (claims.volume_class(volume),))
        self._capacities.add_index(BY_CLASS, lambda capacity: (capacity.storage_class_name,))

    def find(self, wanted: PodVolumeClaims, places: NodePositions) -> Found:
        """Find volumes for a pod's claims on each node."""
        found = Found(
            node_conflict=nowhere(places),
            bind_conflict=nowhere(places),
            no_space=nowhere(places),
            volume_missing=nowhere(places),
            plan=np.full(places.size, NONE, dtype=np.int32),
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
        if selected:
            found.bind_conflict |= ~here
        to_match.sort(key=requested_nanos)
        shelves = Shelves(self._volumes, self._affinities, found)
        try:
            for claim in to_match:
                choice = self._match(claim, shelves, here, places, found)
                gone = len(to_match) > _FEW and self._use_up(choice, here, places, found)
                found.matches.append(Match(claim, choice, gone))
        except ObjectError as error:
            text = f"error creating internal label selector for claim: {claim.key}: {error}"
            found.errors.append((text, here))
            return found
        for unmatched, nodes in _patterns(found.matches, here):
            self._provision([*selected, *unmatched], nodes, places, found)
        if wanted.bound:
            found.plan[found.node_conflict | found.volume_missing] = NONE
        return found

    def _check_bound(
        self, bound: list[PersistentVolumeClaim], places: NodePositions, found: Found
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
        self, volume: PersistentVolume, asked: Mask, places: NodePositions, found: Found
    ) -> Mask:
        """Return which nodes reach a bound volume; an in-tree one may be migrated to CSI there."""
        plain = within(self._affinities.of(volume), places)
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
        return np.where(migrated, within(selector_terms(selector), places), plain)

    def _match(
        self,
        claim: PersistentVolumeClaim,
        shelves: Shelves,
        asked: Mask,
        places: NodePositions,
        found: Found,
    ) -> Ids:
        """Return the volume that each node would bind a claim to."""
        shelf = shelves.of(claim)
        taken = [match.choice for match in found.matches if not match.gone]
        choice = np.full(places.size, NONE, dtype=np.int32)
        left = asked
        for volume in shelf.bound:
            if found.number(volume) in found.gone:
                # Nodes that reach the volume have taken it, and may choose another. For the other
                # nodes it would have been the only choice, so they have none.
                left = left & within(self._affinities.of(volume), places)
                continue
            # A volume that is bound to the claim is the only choice, even if out of reach.
            number = found.number(volume)
            free = left.copy()
            for earlier in taken:
                free &= earlier != number
            choice[free & within(self._affinities.of(volume), places)] = number
            left = left & ~free
        if not shelf.free or not left.any():
            return choice
        # Of volumes with the same terms, one more than a node can have taken is enough.
        choices = shelf.first(len(taken) + 1, found.gone)
        chosen = first_reached(choices, left, taken, places)
        return np.where(left, chosen, choice)

    def _use_up(self, choice: Ids, asked: Mask, places: NodePositions, found: Found) -> bool:
        """Mark the chosen volumes as gone if all nodes that reach them have taken them.

        Return False if that is not so for one of them. Volumes that are gone are not offered to
        other claims, which then need not compare their choices with these.
        """
        numbers = np.unique(choice[choice != NONE]).tolist()
        for number in numbers:
            rows = places.reached(self._affinities.of(found.volumes[number]))
            rows = rows[asked[rows]]
            if not (choice[rows] == number).all():
                return False
        found.gone.update(numbers)
        return True

    def _provision(
        self, wanted: list[PersistentVolumeClaim], nodes: Mask, places: NodePositions, found: Found
    ) -> None:
        """Check on which of some nodes the claims can be provisioned, and record the plan."""
        plan: list[Space] = []
        for claim in wanted:
            name = claims.claim_class(claim)
            storage_class = self._classes.get(name)
            if storage_class is None:
                found.errors.append((f'failed to find storage class "{name}"', nodes))
                return
            if storage_class.provisioner in ("", claims.NO_PROVISIONER):
                found.bind_conflict |= nodes
                return
            allowed = within(topology_terms(storage_class), places)
            found.bind_conflict |= nodes & ~allowed
            nodes = nodes & allowed
            space = self._space(claim, storage_class, nodes, places)
            if space.choice is not None:
                lacking = space.choice == NONE
                found.no_space |= nodes & lacking
                nodes = nodes & ~lacking
            plan.append(space)
        found.plan[nodes] = len(found.plans)
        found.plans.append(plan)

    def _space(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        nodes: Mask,
        places: NodePositions,
    ) -> Space:
        """Choose the storage to provision a claim from, if the driver reports its capacity."""
        requested = claim.spec.resources.requests.get(claims.STORAGE)
        driver = self._drivers.get(storage_class.provisioner)
        if requested is None or driver is None or not driver.spec.storage_capacity:
            return Space(claim)
        size = value(requested)
        capacities = [
            capacity
            for capacity in self._capacities.by_index(BY_CLASS, storage_class.metadata.name)
            if volume_limit(capacity) >= size
        ]
        reach = [
            (number, self._affinities.of_capacity(capacity))
            for number, capacity in enumerate(capacities)
        ]
        return Space(claim, capacities, first_reached(reach, nodes, (), places))


def _patterns(
    matches: list[Match], here: Mask
) -> Iterator[tuple[list[PersistentVolumeClaim], Mask]]:
    """Yield each set of claims that found no volume on some nodes, with those nodes."""
    if not matches:
        yield [], here
        return
    missing = np.stack([match.choice == NONE for match in matches], axis=1)
    # With one claim, the usual case, there are only two patterns.
    occurring = np.array([[False], [True]]) if len(matches) == 1 else missing[here]
    for pattern in np.unique(occurring, axis=0):
        nodes = here & (missing == pattern).all(axis=1)
        if nodes.any():
            yield (
                [match.claim for match, lacks in zip(matches, pattern, strict=True) if lacks],
                nodes,
            )


def volume_limit(capacity: CSIStorageCapacity) -> int:
    """Return the largest volume that a CSIStorageCapacity allows; -1 if it has no limit set."""
    limit = capacity.maximum_volume_size
    if limit is None:
        limit = capacity.capacity
    return -1 if limit is None else value(limit)
