"""StatusWriter: telling the API server why a pod stays pending, and where it is nominated to.

The scheduling loop does not wait for these writes. For one pod they are made one after the other,
and of those that pile up while one is under way only the sum is sent.

# kube-scheduler: schedule_one.go (updatePod), pkg/api/v1/pod/util.go (UpdatePodCondition),
# util/utils.go (PatchPodStatus)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec

from mooring.api import Condition, Pod
from mooring.errors import ApiError
from mooring.framework.handle import Client
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)


UPDATING = "Updating pod condition and nominated node name"
#: A nomination that is set or cleared, and one that is left alone. # kube-scheduler: framework
_MODE_NO_OP, _MODE_OVERRIDE = 0, 1


class StatusChange(msgspec.Struct, frozen=True):
    """What is to be said of a pod; a part that is None is left as it is."""

    condition: Condition | None = None
    #: "" clears the nomination.
    nominated_node_name: str | None = None

    def then(self, later: StatusChange) -> StatusChange:
        """Return the sum of two changes."""
        nominated = later.nominated_node_name
        return StatusChange(
            later.condition or self.condition,
            self.nominated_node_name if nominated is None else nominated,
        )


class _Writing:
    """A pod whose status is being written."""

    def __init__(self) -> None:
        #: What is to be written next; None while there is nothing beyond the write under way.
        self.next: StatusChange | None = None
        self.done = asyncio.Event()


class StatusWriter:
    """Patch pods' status beside the scheduling loop. Owned by the scheduling loop."""

    def __init__(
        self, client: Client, clock: Clock, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._client = client
        self._clock = clock
        self._spawn = spawn
        #: By uid.
        self._under_way: dict[str, _Writing] = {}

    def write(self, pod: Pod, change: StatusChange) -> None:
        """Have a change written soon, against the status that `pod` shows."""
        vlog(log, 3, UPDATING, pod=pod, **_told(change))
        uid = pod.metadata.uid
        writing = self._under_way.get(uid)
        if writing is not None:
            writing.next = change if writing.next is None else writing.next.then(change)
            return
        patch = self._patch(pod, change)
        if patch is None:
            return
        writing = self._under_way[uid] = _Writing()
        self._spawn(self._send(pod, patch, writing))

    async def write_first(self, pod: Pod, change: StatusChange) -> None:
        """Have a change written, and go on when that was tried, with or without success."""
        self.write(pod, change)
        writing = self._under_way.get(pod.metadata.uid)
        if writing is not None:
            await writing.done.wait()

    async def _send(self, pod: Pod, patch: dict[str, Any] | None, writing: _Writing) -> None:
        meta = pod.metadata
        try:
            while patch is not None:
                pod = await self._client.patch(
                    Pod, meta.name, meta.namespace, patch, subresource="status"
                )
                change, writing.next = writing.next, None
                patch = None if change is None else self._patch(pod, change)
        except ApiError as error:
            if not error.is_not_found:
                log_error(log, error, "Error updating pod", pod=pod)
        finally:
            del self._under_way[meta.uid]
            writing.done.set()

    def _patch(self, pod: Pod, change: StatusChange) -> dict[str, Any] | None:
        status: dict[str, Any] = {}
        if change.condition is not None:
            condition = self._changed(pod, change.condition)
            if condition is not None:
                status["conditions"] = [condition]
        nominated = change.nominated_node_name
        if nominated is not None and nominated != pod.status.nominated_node_name:
            status["nominatedNodeName"] = nominated or None
        if not status:
            return None
        # The uid makes the server refuse the patch where a new pod has got the name. kube-scheduler
        # sends none, and may nominate the new pod where the old one was.
        return {"metadata": {"uid": pod.metadata.uid}, "status": status}

    def _changed(self, pod: Pod, wanted: Condition) -> dict[str, Any] | None:
        """Return the condition as it is to be written; None where the pod has it already."""
        changed_at = _rfc3339(self._clock.now())
        for condition in pod.status.conditions:
            if condition.type != wanted.type:
                continue
            if condition.status == wanted.status:
                if (condition.reason, condition.message) == (wanted.reason, wanted.message):
                    return None
                changed_at = condition.last_transition_time or changed_at
        return {
            "type": wanted.type,
            "status": wanted.status,
            "reason": wanted.reason,
            "message": wanted.message,
            "lastProbeTime": None,
            "lastTransitionTime": changed_at,
            "observedGeneration": pod.metadata.generation,
        }


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _told(change: StatusChange) -> dict[str, Any]:
    """Return what the log says of a change."""
    pairs: dict[str, Any] = {}
    if change.condition is not None:
        pairs["conditionType"] = change.condition.type
        pairs["conditionStatus"] = change.condition.status
        pairs["conditionReason"] = change.condition.reason
    nominated = change.nominated_node_name
    pairs["nominatedNodeName"] = nominated or ""
    pairs["nominatingMode"] = _MODE_NO_OP if nominated is None else _MODE_OVERRIDE
    return pairs
