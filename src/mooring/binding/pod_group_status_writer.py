"""PodGroupStatusWriter: writes to the API server whether a pod group has been scheduled.

The scheduling loop does not wait for these writes. The writes of one group are made one after
another; of the conditions that arrive during a write, the last one is written.

A group that was scheduled once stays so: a later failure, of pods that came later, does not change
the condition. kube-scheduler looks at its cached copy for that, which may be behind, so a failure
right after the success can overwrite it; here what was written is remembered until the informer
has seen it.

Whoever sees the condition of a group finds those of its pods: they are written before it.

# kube-scheduler: schedule_one_podgroup.go (updatePodGroupCondition)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Protocol

from mooring.api import Condition, WorkloadPodGroup
from mooring.api.timestamps import format_time
from mooring.binding.status_writer import FIRST_WAIT, LONGEST_WAIT, MAX_ANSWERS, is_passing
from mooring.errors import ApiError
from mooring.framework.handle import ApiClient
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)


class GroupStatusWriter(Protocol):
    """A writer of pod groups' conditions."""

    def write(
        self, group: WorkloadPodGroup, condition: Condition, after: Collection[str] = ()
    ) -> None:
        """Schedule the write of a condition, after what was written of the pods with these uids."""
        ...


class PodGroupStatusWriter:
    """A writer of pod groups' conditions, in tasks. Owned by the scheduling loop."""

    def __init__(
        self,
        client: ApiClient,
        clock: Clock,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        told: Callable[[str], Coroutine[Any, Any, None]],
    ) -> None:
        """Make a writer; `told` waits for the write of a pod's status."""
        self._told = told
        self._client = client
        self._clock = clock
        self._spawn = spawn
        #: By uid, the condition that was last asked for; the most recent group last.
        self._wanted: dict[str, Condition] = {}
        #: The uids of the groups whose status is being written.
        self._under_way: set[str] = set()

    def write(
        self, group: WorkloadPodGroup, condition: Condition, after: Collection[str] = ()
    ) -> None:
        """Schedule the write of a condition, unless the group has it or was scheduled before."""
        uid = group.metadata.uid
        latest = self._wanted.pop(uid, None) or _find(group, condition.type)
        if latest is None or latest.status != "True" or condition.status == "True":
            same = latest is not None and _said(latest) == _said(condition)
            latest = condition
        else:
            same = True
        self._wanted[uid] = latest
        if len(self._wanted) > MAX_ANSWERS:
            del self._wanted[next(iter(self._wanted))]
        if not same and uid not in self._under_way:
            self._under_way.add(uid)
            self._spawn(self._send(group, after))

    async def _send(self, group: WorkloadPodGroup, after: Collection[str]) -> None:
        """Write the condition that is wanted, until none has been asked for meanwhile."""
        uid, wait = group.metadata.uid, FIRST_WAIT
        written: Condition | None = None
        try:
            for pod in after:
                await self._told(pod)
            while (wanted := self._wanted.get(uid)) is not None and wanted is not written:
                try:
                    await self._write(group, wanted)
                    written = wanted
                except ApiError as error:
                    if not error.is_not_found:
                        log_error(log, error, "Failed to update PodGroup status", podGroup=group)
                    if not is_passing(error):
                        self._wanted.pop(uid, None)
                        return
                    await self._clock.sleep(wait)
                    wait = min(wait * 2, LONGEST_WAIT)
        finally:
            self._under_way.discard(uid)

    async def _write(self, group: WorkloadPodGroup, wanted: Condition) -> None:
        meta = group.metadata
        before = _find(group, wanted.type)
        changed_at = format_time(self._clock.wall_time())
        if before is not None and before.status == wanted.status:
            changed_at = before.last_transition_time or changed_at
        condition: dict[str, Any] = {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "lastTransitionTime": changed_at,
        }
        if meta.generation:
            condition["observedGeneration"] = meta.generation
        # With the uid, the server refuses the patch if the name now belongs to another group.
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [condition]}}
        await self._client.patch(
            WorkloadPodGroup, meta.name, meta.namespace, patch, subresource="status"
        )


def _find(group: WorkloadPodGroup, type: str) -> Condition | None:
    return next((one for one in group.status.conditions if one.type == type), None)


def _said(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message
