"""Units of preemption: pods, and groups of pods that are preempted together.

# kube-scheduler: framework/preemption/types.go (DomainVictim), util.go (MoreImportantVictim)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mooring.api import CompositePodGroup
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo
from mooring.preemption.importance import started


class Unit(msgspec.Struct, frozen=True):
    """Pods that are preempted together: one, or those of a group with disruptionMode `all`."""

    pods: Sequence[PodInfo]
    priority: int
    #: 0 for a pod, 1 for a whole group, 2 for a whole composite group.
    rank: int = 0

    @property
    def is_group(self) -> bool:
        """Return whether this is a whole group."""
        return self.rank > 0

    @property
    def importance(self) -> tuple[int, int, int, float]:
        """Return a key that sorts the most important unit first.

        Higher priority, then composite groups before groups before pods, then more pods, then the
        earlier start.
        """
        began = min(map(started, self.pods))
        return -self.priority, -self.rank, -len(self.pods), began


def units_below(pods: Iterable[PodInfo], groups: PodGroups, priority: int) -> list[Unit]:
    """Return the units of lower priority among pods; a whole group counts if one pod of it does."""
    found: list[Unit] = []
    whole: set[str] = set()
    for info in pods:
        pod = info.pod
        own = groups.priority_of(info)
        if own >= priority:
            continue
        group = groups.disrupted_whole(pod)
        if group is None:
            found.append(Unit((info,), own))
        elif group.entity_key not in whole:
            whole.add(group.entity_key)
            rank = 2 if isinstance(group, CompositePodGroup) else 1
            found.append(Unit(tuple(groups.placed_in(group)), own, rank))
    return found
