"""The status writer of a scheduler in memory: changes go directly to the store."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from mooring.api import Condition, Pod, WorkloadPodGroup
from mooring.binding.status_writer import StatusChange
from mooring.informers.store import Store


class MemoryStatusWriter:
    """A `PodStatusWriter` of the pods in a store. Never suspends."""

    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods

    def write(self, pod: Pod, change: StatusChange) -> None:
        """Write a change; a pod that is bound or gone is left as it is."""
        meta = pod.metadata
        current = self._pods.get(meta.name, meta.namespace)
        if current is None or current.spec.node_name or current.metadata.uid != meta.uid:
            return
        status, condition = current.status, change.condition
        if condition is not None:
            others = tuple(one for one in status.conditions if one.type != condition.type)
            status = replace(status, conditions=(*others, condition))
        if change.nominated_node_name is not None:
            status = replace(status, nominated_node_name=change.nominated_node_name)
        self._pods.update(replace(current, status=status))

    async def write_first(self, pod: Pod, change: StatusChange) -> None:
        """Write a change."""
        self.write(pod, change)

    async def told(self, uid: str) -> None:
        """Return immediately: no write is ever in progress."""

    async def settle(self, uid: str) -> None:
        """Return immediately: no write is ever in progress."""


class MemoryGroupStatusWriter:
    """A `GroupStatusWriter` of the pod groups in a store."""

    def __init__(self, groups: Store[WorkloadPodGroup]) -> None:
        self._groups = groups

    def write(
        self, group: WorkloadPodGroup, condition: Condition, after: Collection[str] = ()
    ) -> None:
        """Write a condition; a group that was scheduled once stays so."""
        current = self._groups.get(group.metadata.name, group.metadata.namespace)
        if current is None or current.metadata.uid != group.metadata.uid:
            return
        conditions = current.status.conditions
        if any(one.type == condition.type and one.status == "True" for one in conditions):
            return
        others = tuple(one for one in conditions if one.type != condition.type)
        status = replace(current.status, conditions=(*others, condition))
        self._groups.update(replace(current, status=status))
