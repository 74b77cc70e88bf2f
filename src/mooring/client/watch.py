"""Watch: watch events, decoded line by line."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

from mooring.api import CustomResource, KubeObject, TypedObject
from mooring.client.responses import StatusAnswer, decode_object, error_of_status
from mooring.client.transport import MAX_OBJECT, Stream
from mooring.errors import ApiError, ObjectError, cut_text
from mooring.observe.log_limit import LogLimit
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T", bound=KubeObject)

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
BOOKMARK, ERROR = "BOOKMARK", "ERROR"
#: Marks the bookmark that ends the initial events of a watch.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

#: The kind comes first in what kube-apiserver sends; elsewhere it takes longer to find.
_KIND_WITHIN = 200
_UNREADABLE = "Cannot read a watched object, going on without it"


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """The addition, modification or deletion of an object, or a bookmark."""

    type: str
    object: T


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Kind(msgspec.Struct):
    kind: str = ""


class _EventKind(msgspec.Struct):
    object: _Kind


_KIND_DECODER = msgspec.json.Decoder(_EventKind)


@lru_cache(maxsize=256)
def _event_decoder(struct: type[T]) -> msgspec.json.Decoder[WatchEvent[T]]:
    return msgspec.json.Decoder(WatchEvent[struct])  # type: ignore[valid-type]


class Watch(Generic[T]):
    """The events of a watch, in batches: all that one read of the connection returned.

    It ends when the server ends it. A failure that the server reports, or a line that is not JSON
    or longer than `MAX_OBJECT`, raises ApiError; a broken connection raises NoAnswerError. Objects
    that cannot be decoded, or are of another kind, are logged and left out.
    """

    # client-go: tools/cache/reflector.go (handleAnyWatch)

    def __init__(self, stream: Stream, struct: type[T], url: str) -> None:
        self._stream = stream
        self._struct = struct
        self._url = url
        self._kind = struct.kind if issubclass(struct, TypedObject) else ""
        self._kind_text = b'"kind":"%s"' % self._kind.encode()
        self._unreadable = LogLimit()

    async def batches(self) -> AsyncIterator[list[WatchEvent[T]]]:
        """Yield batches of events, never empty ones."""
        rest: list[bytes] = []
        size = 0
        async for chunk in self._stream.chunks():
            head, newline, tail = chunk.rpartition(b"\n")
            if not newline:
                # A long line arrives in many chunks, which are joined once.
                rest.append(chunk)
                size += len(chunk)
                if size > MAX_OBJECT:
                    raise self._garbage(f"an event is larger than {MAX_OBJECT} bytes")
                continue
            rest.append(head)
            lines = b"".join(rest).split(b"\n")
            rest = [tail] if tail else []
            size = len(tail)
            batch: list[WatchEvent[T]] = []
            try:
                self._decode(lines, batch)
            except ApiError:
                # The events before the failure are valid.
                if batch:
                    yield batch
                raise
            if batch:
                yield batch

    def _decode(self, lines: list[bytes], batch: list[WatchEvent[T]]) -> None:
        decode = None if self._struct is CustomResource else _event_decoder(self._struct).decode
        for line in lines:
            event = None
            if decode is not None:
                try:
                    event = decode(line)
                except (msgspec.MsgspecError, UnicodeError):
                    event = None
            if event is None or event.type == ERROR:
                event = self._decode_slowly(line)
            if (
                event is not None
                and line.find(self._kind_text, 0, _KIND_WITHIN) < 0
                and not self._is_expected(line)
            ):
                continue
            if event is not None:
                batch.append(event)

    def _decode_slowly(self, line: bytes) -> WatchEvent[T] | None:
        """Decode a line that is an error or a custom resource, has nulls, or is broken."""
        if not line.strip():
            return None
        try:
            raw = msgspec.json.decode(line, type=_RawEvent)
            body = bytes(raw.object)
            if raw.type == ERROR:
                said = msgspec.json.decode(body, type=StatusAnswer)
                raise error_of_status(said, "GET", self._url)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self._garbage(str(error)) from None
        try:
            return WatchEvent(raw.type, decode_object(body, self._struct))
        except ObjectError as error:
            # An object that cannot be decoded must not hide the others.
            self._log_unreadable(error)
            return None

    def _is_expected(self, line: bytes) -> bool:
        """Return whether the object of an event does not say that it is of another kind."""
        if not self._kind:
            return True
        try:
            kind = _KIND_DECODER.decode(line).object.kind
        except (msgspec.MsgspecError, UnicodeError):
            # It has nulls, or is an error.
            return True
        if kind in ("", self._kind):
            return True
        self._log_unreadable(f"expected {self._kind}, got {cut_text(kind, _KIND_WITHIN)}")
        return False

    def _log_unreadable(self, problem: ObjectError | str) -> None:
        if number := self._unreadable.count():
            log_error(log, problem, _UNREADABLE, url=self._url, count=number)

    def _garbage(self, problem: str) -> ApiError:
        message = f"unable to decode an event from the watch stream: {problem}"
        return ApiError(500, message, reason="ClientWatchDecoding", method="GET", url=self._url)
