"""A broadcaster on virtual time, and a client that fails as told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.api import Event, Pod
from mooring.binding.broadcaster import (
    EventBroadcaster,
)
from mooring.binding.event_recorder import EventRecorder
from mooring.errors import ApiError, NoAnswerError
from tests.cycle.scheduling import make_pod
from tests.support.virtual_loop import LoopClock, run_virtually

MINUTE = 60.0


NOT_FOUND = ApiError(404, reason="NotFound")


EXISTS = ApiError(409, reason="AlreadyExists")


FORBIDDEN = ApiError(403, reason="Forbidden")


NO_ANSWER = NoAnswerError("connection refused", sent=False)


class FakeClient:
    """A client that records writes; the first calls raise `failures`, one each."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str, Any]] = []
        self.times: list[float] = []
        self.failures: list[ApiError] = []
        self.before: Callable[[], Any] | None = None
        self.under_way = self.most_under_way = 0

    async def _write(self, verb: str, name: str, what: Any) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        if self.before is not None:
            await self.before()
        self.under_way -= 1
        self.times.append(asyncio.get_running_loop().time())
        if self.failures:
            failure = self.failures.pop(0)
            self.written.append((f"{verb} {failure.status}", name, what))
            raise failure
        self.written.append((verb, name, what))

    async def create(self, event: Event) -> Event:
        series = event.series and event.series.count
        await self._write("create", event.regarding.name, series)
        return event

    async def patch(self, kind: Any, name: str, namespace: str, patch: Any) -> None:
        assert kind is Event
        await self._write("patch", name.partition(".")[0], patch["series"]["count"])


class Scene:
    """A broadcaster with its client and a recorder."""

    def __init__(self) -> None:
        self.client = FakeClient()
        client: Any = self.client
        self.broadcaster = EventBroadcaster(
            client, LoopClock(), random=random.Random(1), hostname="host"
        )
        self.recorder = self.broadcaster.recorder("default-scheduler")

    def fail(self, pod: Pod, note: str = "no room", recorder: EventRecorder | None = None) -> None:
        """Report a pod that cannot be scheduled."""
        (recorder or self.recorder).event(pod, "Warning", "FailedScheduling", "Scheduling", note)

    @property
    def written(self) -> list[tuple[str, str, Any]]:
        return self.client.written


def scene(story: Callable[[Scene], Any]) -> Scene:
    """Run a story on virtual time, then close the broadcaster."""

    async def play() -> Scene:
        made = Scene()
        await story(made)
        await made.broadcaster.close()
        return made

    return run_virtually(play())


async def settle() -> None:
    """Give the senders time to write what is not waiting for a retry."""
    await asyncio.sleep(0.001)


def versioned(version: str) -> Pod:
    pod = make_pod()
    metadata = msgspec.structs.replace(pod.metadata, resource_version=version)
    return msgspec.structs.replace(pod, metadata=metadata)
