"""Units of preemption: pods, and groups of pods that are preempted together.

# kube-scheduler: framework/preemption/types.go (DomainVictim), util.go (MoreImportantVictim)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo
from mooring.plugins.preemption.importance import started


class Unit(msgspec.Struct, frozen=True):
    """Pods that are preempted together: one, or those of a group with disruptionMode `all`."""

    pods: Sequence[PodInfo]
    priority: int
    #: Whether this is a whole group.
    is_group: bool = False

    @property
    def importance(self) -> tuple[int, int, int, float]:
        """Return a key that sorts the most important unit first.

        Higher priority, then groups before pods, then more pods, then the earlier start.
        """
        began = min(map(started, self.pods))
        return -self.priority, -self.is_group, -len(self.pods), began


def units_below(pods: Iterable[PodInfo], groups: PodGroups, priority: int) -> list[Unit]:
    """Return the units of lower priority among pods; a whole group counts if one pod of it does."""
    found: list[Unit] = []
    whole: set[str] = set()
    for info in pods:
        pod = info.pod
        group = None if pod.spec.scheduling_group is None else groups.of(pod)
        if group is None:
            if info.priority < priority:
                found.append(Unit((info,), info.priority))
        elif group.priority >= priority:
            continue
        elif not group.is_disrupted_whole:
            found.append(Unit((info,), group.priority))
        elif group.key not in whole:
            whole.add(group.key)
            found.append(Unit(tuple(groups.placed(group.key)), group.priority, is_group=True))
    return found
