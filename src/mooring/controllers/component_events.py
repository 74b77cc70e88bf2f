"""ComponentEvents: the Events that a component records about objects."""

# client-go: tools/record/event.go

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mooring.api import CustomResource, TypedObject
from mooring.api.timestamps import format_time
from mooring.binding.event_recorder import cut_note, event_name
from mooring.client.resources import raw_resource
from mooring.controllers.correlation import Correlation, Group, keep
from mooring.controllers.writer import Object, Writer
from mooring.errors import ApiError
from mooring.observe.clock import Clock
from mooring.observe.logs import vlog

log = logging.getLogger(__name__)

NORMAL, WARNING = "Normal", "Warning"
_EVENTS = raw_resource("events.v1")


class ComponentEvents:
    """A recorder of core/v1 Events for one component.

    A repeated Event increases the count of the first one. Similar Events are combined and too many
    of them are dropped, as in client-go.

    Recording never waits and never fails: an Event that the server refuses is lost.
    """

    def __init__(self, component: str, writer: Writer, clock: Clock) -> None:
        self._component = component
        self._writer = writer
        self._clock = clock
        self._last = 0
        self._known: dict[Group, tuple[str, int]] = {}
        self._correlation = Correlation()
        self._tasks: set[asyncio.Task[None]] = set()

    def record(
        self,
        about: TypedObject | CustomResource,
        type: str,
        reason: str,
        message: str,
        *,
        host: str = "",
    ) -> None:
        """Record an Event.

        `type` is NORMAL or WARNING, `host` the node on which the component runs.
        """
        metadata = about.metadata
        namespace = metadata.namespace or "default"
        now = self._clock.now()
        when = format_time(self._clock.wall_time())
        same, message = self._correlation.combine(metadata.uid, type, reason, message, now)
        allowed = self._correlation.allows(metadata.uid, type, now)
        known = self._known.pop(same, None)
        if known is not None:
            name, count = known
            keep(self._known, same, (name, count + 1))
            if not allowed:
                return
            patch: Object = {
                "count": count + 1,
                "lastTimestamp": when,
                "message": cut_note(message),
            }
            self._spawn(self._writer.patch, _EVENTS, namespace, name, patch)
            return
        if not allowed:
            return
        self._last = max(int(now * 1e9), self._last + 1)
        name = event_name(metadata.name, self._last)
        keep(self._known, same, (name, 1))
        source = {"component": self._component} | ({"host": host} if host else {})
        event: Object = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            "type": type,
            "reason": reason,
            "message": cut_note(message),
            "source": source,
            "firstTimestamp": when,
            "lastTimestamp": when,
            "count": 1,
            "reportingComponent": self._component,
            "reportingInstance": host,
        }
        self._spawn(self._writer.create, _EVENTS, event)

    async def close(self) -> None:
        """Drop the Events that have not been sent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, write: Callable[..., Awaitable[Object]], *what: Any) -> None:
        task = asyncio.get_running_loop().create_task(_send(write, *what))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _send(write: Callable[..., Awaitable[Object]], *what: Any) -> None:
    try:
        await write(*what)
    except ApiError as error:
        vlog(log, 4, "Event was lost", err=error)
