"""StatusWriter: writes to the API server why a pod is pending, and its nominated node.

The scheduling loop does not wait for these writes. The writes of one pod are made one after
another, and changes that arrive during a write are combined into one.

A nomination that stays on the server by mistake keeps room from other pods. So a write that fails
for a temporary reason is retried, and a change is compared with the server's last response if the
informer is behind it. kube-scheduler does neither, and relies on its flush after 5 minutes.

# kube-scheduler: schedule_one.go (updatePod)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from mooring.api import Condition, Pod
from mooring.api.pod_conditions import condition_patch
from mooring.errors import ApiError
from mooring.framework.handle import ApiClient
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)


UPDATING = "Updating pod condition and nominated node name"
#: Seconds between two attempts of a write; they double up to the maximum.
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
#: The number of pods whose last response is kept.
MAX_ANSWERS = 10_000

#: The modes of a nomination: set or clear it, or leave it. # kube-scheduler: framework
_MODE_NO_OP, _MODE_OVERRIDE = 0, 1


class StatusChange(msgspec.Struct, frozen=True):
    """A change of a pod's status; a part that is None stays as it is."""

    condition: Condition | None = None
    #: "" clears the nomination.
    nominated_node_name: str | None = None

    def then(self, later: StatusChange) -> StatusChange:
        """Return the combination of two changes."""
        nominated = later.nominated_node_name
        return StatusChange(
            later.condition or self.condition,
            self.nominated_node_name if nominated is None else nominated,
        )


class PodStatusWriter(Protocol):
    """A writer of pods' status."""

    def write(self, pod: Pod, change: StatusChange) -> None:
        """Schedule the write of a change, relative to the status of `pod`."""
        ...

    async def write_first(self, pod: Pod, change: StatusChange) -> None:
        """Write a change, and return after the first attempt, successful or not."""
        ...

    async def told(self, uid: str) -> None:
        """Wait until the changes of a pod so far have been written, or a write has failed."""
        ...

    async def settle(self, uid: str) -> None:
        """Wait for the write of a pod in progress; do not retry failed writes."""
        ...


class _Writing:
    """A pod whose status is being written."""

    def __init__(self) -> None:
        #: The change to write next; None if there is none besides the write in progress.
        self.next: StatusChange | None = None
        #: Whether failed writes are not retried.
        self.dropped = False
        #: Set when everything has been written, or a write has failed.
        self.done = asyncio.Event()
        #: Set while no write is in progress.
        self.idle = asyncio.Event()


class StatusWriter:
    """A writer of pods' status, in tasks. Owned by the scheduling loop."""

    def __init__(
        self, client: ApiClient, clock: Clock, spawn: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._client = client
        self._clock = clock
        self._spawn = spawn
        #: By uid.
        self._under_way: dict[str, _Writing] = {}
        #: By uid, the pod in the server's last response; None if that response was lost.
        self._answers: dict[str, Pod | None] = {}

    def write(self, pod: Pod, change: StatusChange) -> None:
        """Schedule the write of a change, relative to the status of `pod`."""
        vlog(log, 3, UPDATING, pod=pod, **_told(change))
        uid = pod.metadata.uid
        writing = self._under_way.get(uid)
        if writing is not None:
            writing.next = change if writing.next is None else writing.next.then(change)
            return
        if self._patch(pod, change) is None:
            return
        writing = self._under_way[uid] = _Writing()
        self._spawn(self._send(pod, change, writing))

    async def write_first(self, pod: Pod, change: StatusChange) -> None:
        """Write a change, and return after the first attempt, successful or not."""
        self.write(pod, change)
        await self.told(pod.metadata.uid)

    async def told(self, uid: str) -> None:
        """Wait until the changes of a pod so far have been written, or a write has failed."""
        writing = self._under_way.get(uid)
        if writing is not None:
            await writing.done.wait()

    async def settle(self, uid: str) -> None:
        """Wait for the write of a pod in progress; do not retry failed writes.

        A pod that is being bound does not need its earlier changes, and they must not arrive after
        the bind.
        """
        writing = self._under_way.get(uid)
        if writing is not None:
            writing.dropped, writing.next = True, None
            await writing.idle.wait()

    async def _send(self, pod: Pod, change: StatusChange, writing: _Writing) -> None:
        wanted: StatusChange | None = change
        wait = FIRST_WAIT
        try:
            while wanted is not None:
                writing.idle.clear()
                failure = await self._try(pod, wanted)
                if failure is not None:
                    writing.done.set()
                    writing.idle.set()
                    if not is_passing(failure):
                        return
                    await self._clock.sleep(wait)
                    wait = min(wait * 2, LONGEST_WAIT)
                if failure is None or writing.dropped:
                    wanted = writing.next
                elif writing.next is not None:
                    wanted = wanted.then(writing.next)
                writing.next, writing.dropped = None, False
        finally:
            del self._under_way[pod.metadata.uid]
            writing.done.set()
            writing.idle.set()

    async def _try(self, pod: Pod, change: StatusChange) -> ApiError | None:
        """Write a change; return why it failed, or None."""
        patch, meta = self._patch(pod, change), pod.metadata
        if patch is None:
            return None
        try:
            answer = await self._client.patch(
                Pod, meta.name, meta.namespace, patch, subresource="status"
            )
        except ApiError as error:
            if not error.is_not_found:
                log_error(log, error, "Error updating pod", pod=pod)
            self._learn(meta.uid, None)
            return error
        self._learn(meta.uid, answer)
        return None

    def _learn(self, uid: str, answer: Pod | None) -> None:
        """Keep the server's version of a pod; None if it is not known."""
        self._answers.pop(uid, None)
        self._answers[uid] = answer
        if len(self._answers) > MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]

    def _latest(self, pod: Pod) -> Pod | None:
        """Return the later of the informer's version of a pod and the server's last response."""
        uid = pod.metadata.uid
        if uid not in self._answers:
            return pod
        answer = self._answers[uid]
        if answer is None or _version(answer) > _version(pod):
            return answer
        del self._answers[uid]
        return pod

    def _patch(self, pod: Pod, change: StatusChange) -> dict[str, Any] | None:
        status: dict[str, Any] = {}
        latest = self._latest(pod)
        if change.condition is not None:
            now, certain = self._clock.wall_time(), latest is not None
            status |= condition_patch(latest or pod, change.condition, now, certain=certain)
        nominated = change.nominated_node_name
        if nominated is not None and (
            latest is None or nominated != latest.status.nominated_node_name
        ):
            status["nominatedNodeName"] = nominated or None
        if not status:
            return None
        # With the uid, the server refuses the patch if the name now belongs to another pod.
        # kube-scheduler sends no uid, and may nominate the new pod to the old one's node.
        return {"metadata": {"uid": pod.metadata.uid}, "status": status}


def is_passing(error: ApiError) -> bool:
    """Return whether the same write may succeed later."""
    return error.status == 0 or error.status >= 500 or error.status in (409, 429)


def _version(pod: Pod) -> int:
    text = pod.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _told(change: StatusChange) -> dict[str, Any]:
    """Return the description of a change for the log."""
    pairs: dict[str, Any] = {}
    if change.condition is not None:
        pairs["conditionType"] = change.condition.type
        pairs["conditionStatus"] = change.condition.status
        pairs["conditionReason"] = change.condition.reason
    nominated = change.nominated_node_name
    pairs["nominatedNodeName"] = nominated or ""
    pairs["nominatingMode"] = _MODE_NO_OP if nominated is None else _MODE_OVERRIDE
    return pairs
