"""EventRecorder: creating Kubernetes Events about objects.

# client-go: tools/events/event_recorder.go, tools/reference/ref.go, tools/record/util/util.go
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

from mooring.api import CustomResource, Event, ObjectMeta, ObjectReference, TypedObject
from mooring.api.names import subdomain_problems
from mooring.api.timestamps import format_micro_time
from mooring.errors import cut_text
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)

TYPES = ("Normal", "Warning")
#: Maximum bytes of a note. # kube-apiserver: pkg/apis/core/validation/events.go (NoteLengthLimit)
NOTE_LIMIT = 1024

#: The namespace of Events about objects without a namespace.
_DEFAULT_NAMESPACE = "default"


class EventRecorder:
    """The recorder of one profile's Events (`framework.handle.Events`).

    It passes each Event to `send`, which must not block.
    """

    def __init__(
        self, controller: str, instance: str, clock: Clock, send: Callable[[Event], None]
    ) -> None:
        self._controller = controller
        self._instance = instance
        self._clock = clock
        self._send = send
        self._last_nanos = 0

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        """Record an Event; `type` is "Normal" or "Warning". Does not block."""
        about = reference(regarding)
        if about is None:
            problem = f"{regarding.__class__.__name__} is not a Kubernetes object"
            text = "Could not construct reference, will not report event"
            log_error(log, problem, text, eventType=type, reason=reason, message=note)
            return
        with_whom = None if related is None else reference(related)
        if related is not None and with_whom is None:
            vlog(log, 9, "Could not construct reference", object=repr(related))
        if type not in TYPES:
            log_error(log, None, "Unsupported event type", eventType=type)
            return
        now = self._clock.wall_time()
        # Two Events about one object at the same moment still need different names.
        nanos = self._last_nanos = max(int(now * 1e9), self._last_nanos + 1)
        metadata = ObjectMeta(
            name=event_name(about.name, nanos), namespace=about.namespace or _DEFAULT_NAMESPACE
        )
        self._send(
            Event(
                metadata=metadata,
                event_time=format_micro_time(now),
                reporting_controller=self._controller,
                reporting_instance=self._instance,
                action=action,
                reason=reason,
                regarding=about,
                related=with_whom,
                note=cut_note(note),
                type=type,
            )
        )


def reference(obj: Any) -> ObjectReference | None:
    """Return a reference to an object; None if it is not a Kubernetes object."""
    if isinstance(obj, ObjectReference):
        return obj
    if not isinstance(obj, TypedObject | CustomResource):
        return None
    metadata = obj.metadata
    return ObjectReference(
        api_version=obj.api_version,
        kind=obj.kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def event_name(name: str, nanos: int) -> str:
    """Return the name of an Event about an object of this name.

    >>> event_name("web-0", 0x17F)
    'web-0.17f'
    """
    made = f"{name}.{nanos:x}"
    # client-go uses a random UUID here; this one is reproducible in a replay.
    return str(uuid.uuid5(uuid.NAMESPACE_OID, made)) if subdomain_problems(made) else made


def cut_note(note: str) -> str:
    """Shorten a note to the length that the API server accepts."""
    # kube-scheduler: schedule_one.go (truncateMessage)
    return cut_text(note, NOTE_LIMIT)
