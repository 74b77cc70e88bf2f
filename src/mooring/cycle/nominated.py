"""Which nodes refuse a pod because of the pods nominated to them, cached for identical pods.

While many pods preempt at once, hundreds of nodes have nominated pods, and each further pod must be
filtered on each of those nodes with its nominated pods added. The result for a pod of the same
signature and priority stays valid until the node, its pods or its nominations change.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import msgspec
import numpy as np

from mooring.cycle.filtering import nominated_before, refused_by_nominations, refused_with
from mooring.cycle.profile import Profile
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf

#: How many kinds of pods are cached; a kind is a profile, a signature and a priority.
_KINDS_OF_PODS = 4

Refused = list[tuple[int, Status]]


class NominationMemory:
    """A cache of the nodes that refuse a kind of pod because of nominated pods.

    Owned by the search.
    """

    def __init__(self, nominator: Nominator) -> None:
        self._nominator = nominator
        #: In the order of use, the most recent last.
        self._remembered: dict[Hashable, _Remembered] = {}

    def refused(self, profile: Profile, state: CycleState, pod: PodInfo, nodes: Nodes) -> Refused:
        """Return the rows and refusals of nodes that refuse the pod because of nominated pods."""
        nominator = self._nominator
        if not any(True for _ in nominator.nodes()):
            return []
        signature = profile.handle.sign(state, pod.pod)
        if signature is None:
            return refused_by_nominations(profile, nominator, state, pod, nodes)
        kind = (profile.name, signature, pod.priority)
        found = self._remembered.pop(kind, None)
        if found is None:
            found = _Remembered(nominator)
            if len(self._remembered) >= _KINDS_OF_PODS:
                del self._remembered[next(iter(self._remembered))]
        refused = found.refused(profile, state, pod, nodes)
        if all(status.is_rejected for _, status in refused):
            self._remembered[kind] = found
        return refused


class _Seen(msgspec.Struct, frozen=True, gc=False):
    """The state of nodes and nominations at one moment."""

    node_generation: int
    generation: int
    version: int


class _Remembered:
    def __init__(self, nominator: Nominator) -> None:
        self._nominator = nominator
        #: The generations and the version that the refusals are of; None if there are none.
        self._seen: _Seen | None = None
        #: Rows with nominated pods of the same or higher priority, and the refusals among them.
        self._rows: set[int] = set()
        self._refusals: dict[int, Status] = {}

    def refused(self, profile: Profile, state: CycleState, pod: PodInfo, nodes: Nodes) -> Refused:
        """Filter the rows that have changed, and return all that refuse."""
        nominator = self._nominator
        # Ignore the pod's own nomination; those of identical pods count.
        own = nodes.row(nominator.node_of(pod.uid))
        changed = self._changed(nodes)
        if own >= 0:
            changed.add(own)
        self._ask(profile, state, pod, nodes, changed)
        refused = list(self._refusals.items())
        seen = _Seen(nodes.node_generation, nodes.generation, nominator.version)
        self._seen = None if own >= 0 else seen
        return refused

    def _changed(self, nodes: Nodes) -> set[int]:
        """Return the rows to filter again; if they are not known, drop the cache and return all."""
        names = touched = None
        seen = self._seen
        if seen is not None and seen.node_generation == nodes.node_generation:
            names = self._nominator.changed_since(seen.version)
            touched = nodes.changed_since(seen.generation)
        if names is None or touched is None:
            self._rows.clear()
            self._refusals.clear()
            names, touched = tuple(self._nominator.nodes()), []
        return {nodes.row(name) for name in names} - {-1} | self._rows.intersection(touched)

    def _ask(
        self, profile: Profile, state: CycleState, pod: PodInfo, nodes: Nodes, rows: Iterable[int]
    ) -> None:
        names = nodes.names
        found: list[tuple[int, list[PodInfo]]] = []
        for row in rows:
            self._refusals.pop(row, None)
            self._rows.discard(row)
            others = nominated_before(self._nominator, pod, names[row])
            if others:
                self._rows.add(row)
                found.append((row, others))
        if not found:
            return
        view = WhatIf(nodes, np.array([row for row, _ in found], dtype=np.intp))
        others_of = [others for _, others in found]
        for position, status in refused_with(profile, state, pod.pod, view, others_of):
            self._refusals[found[position][0]] = status
