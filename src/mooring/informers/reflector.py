"""Reflector: keeps a store in sync with the server, with a list followed by a watch.

The initial state comes as a stream (WatchList) or, if the server does not support that, as a list
in pages. Then the watch continues; when it ends it is resumed at the last resource version, and
only if the server no longer has that version (410 Gone) is everything listed again. A watch that is
silent for long is resumed as well, on a new connection (`WatchPacer`). After a broken connection,
a refusal or an undecodable response, it retries with growing delays, forever. It also retries if
the server does not serve a custom resource or an optional kind of `mooring.api`, which until then
has no objects.

Whatever the server responds, the rate of requests is bounded. client-go repeats three requests
without a pause: a watch that ends right after an event, a stream of the initial state that is
refused with 410 even for the latest version, and the pages of a list whose continuations all
expire. A watch whose resource versions go back is not believed: its server lies, or was restored
from a backup. client-go keeps what such events say.
"""

# client-go: tools/cache/reflector.go

from __future__ import annotations

import asyncio
import logging
import math
import random as random_module
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from mooring.api import CustomResource, KubeObject
from mooring.client.client import IDLE_SECONDS
from mooring.client.collector import CollectorPause
from mooring.client.resources import KindLike, ListOptions, find_resource
from mooring.client.responses import ObjectList
from mooring.client.watch import (
    ADDED,
    BOOKMARK,
    DELETED,
    INITIAL_EVENTS_END,
    MODIFIED,
    Watch,
    WatchEvent,
)
from mooring.client.watch_pacer import PacedWatch, WatchPacer
from mooring.errors import ApiError, MooringError, NoAnswerError, cut_text
from mooring.informers.backoff import Backoff
from mooring.informers.store import Store
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.log_limit import LogLimit
from mooring.observe.logs import log_error, vlog

log = logging.getLogger(__name__)

T = TypeVar("T", bound=KubeObject)

#: A watch of fewer seconds is short. So many in a row are resumed immediately, further ones this
#: time after they were opened.
SHORT_WATCH, MOST_SHORT_WATCHES = 1.0, 3
#: The server ends a watch after a time in this range, so that restarts are spread out.
WATCH_SECONDS = (300, 600)
# client-go: tools/pager/pager.go
PAGE_SIZE = 500
WATCH_FAILED = "Warning: watch ended with error"
VERY_SHORT_WATCH = (
    "very short watch: Unexpected watch close - "
    "watch lasted less than a second and no items received"
)
UNKNOWN_EVENT = "Unknown watch event"
#: How many bytes of an unknown event type are logged.
_LONGEST_TYPE = 200
WENT_BACK = "the resource versions of the watch go back, from {} to {}: listing everything again"
NOT_SERVED = (
    "The server does not serve %s: continuing as if there were no such objects. Install its "
    "CustomResourceDefinition; the scheduler then finds it without a restart"
)
#: The same for a kind of Kubernetes that is new, or that servers do not serve by default.
NOT_ENABLED = (
    "The server does not serve %s: continuing as if there were no such objects. Its release does "
    "not have it, or its --runtime-config does not enable it"
)


class Source(Protocol):
    """A source of objects: a client, or a substitute for one."""

    async def list(
        self, kind: Any, namespace: str = "", options: ListOptions | None = None
    ) -> ObjectList[Any]:
        """Read a list, or a page of it."""
        ...

    def watch(
        self,
        kind: Any,
        namespace: str = "",
        options: ListOptions | None = None,
        *,
        idle_timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Watch[Any]]:
        """Watch objects."""
        ...

    async def serves(self, kind: Any) -> bool:
        """Return whether the server serves a kind."""
        ...


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects of a kind are kept; by default all of them."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


class _Stream(msgspec.Struct, Generic[T]):
    """The state of one watch while it runs."""

    started: float
    #: The objects of the initial state until it is complete; None if none is sent.
    initial: dict[tuple[str, str], T] | None = None
    events: int = 0
    #: Whether events come in the order of resource versions; initial events do not.
    ordered: bool = True
    #: Whether it was ended because it was silent.
    silent: bool = False
    #: Whether it was ended because its resource versions went back.
    went_back: bool = False


class Reflector(Generic[T]):
    """The list and watch that fill a store with one kind. Owned by the informer that runs it."""

    def __init__(
        self,
        kind: KindLike,
        source: Source,
        store: Store[T],
        *,
        selection: Selection | None = None,
        clock: Clock | None = None,
        random: random_module.Random | None = None,
        collector: CollectorPause | None = None,
        paced: PacedWatch | None = None,
        watch_list: bool = True,
        idle_timeout: float | None = IDLE_SECONDS,
        dispensable: bool = False,
        rights_known: Callable[[], bool] = lambda: True,
    ) -> None:
        #: Set once the store has held the server's state or, for a dispensable kind, once it is
        #: certain that we may not watch it. A server that has just started refuses everything until
        #: its roles are loaded: `rights_known` returns whether a refusal can be believed.
        self.synced = asyncio.Event()
        #: Why the last attempt failed; None while all is well.
        self.failure: MooringError | None = None
        #: Whether the store holds what the server has sent, perhaps some time ago.
        self.is_populated = False
        #: Since when the store may lack changes, in seconds since the epoch; None while a watch is
        #: open, and before the first.
        self.lost_since: float | None = None
        self._kind = kind
        self._source = source
        self._store = store
        self._selection = Selection() if selection is None else selection
        self._clock = SystemClock() if clock is None else clock
        self._random = random_module.Random() if random is None else random
        self._collector = CollectorPause() if collector is None else collector
        self._paced = PacedWatch(WatchPacer()) if paced is None else paced
        self._watch_list_wanted = watch_list
        self._idle_timeout = idle_timeout
        self._dispensable = dispensable
        self._rights_known = rights_known
        self._backoff = Backoff(self._clock, self._random)
        self._version = ""
        # Whether the server has said that it does not have our version: then request its latest.
        self._version_unavailable = False
        self._paged = False
        #: Limits the lines about events of unknown types.
        self._unknown = LogLimit()
        #: How many short watches came in a row.
        self._short_watches = 0
        self._type = _describe(kind)
        self._resource = find_resource(kind)
        self._may_be_absent = self._resource.custom or self._resource.optional

    async def run(self) -> None:
        """Keep the store up to date until cancelled."""
        vlog(log, 3, "Starting reflector", type=self._type)
        while True:
            patience = 0.0
            try:
                await self._list_and_watch()
            except MooringError as failure:
                error = await self._look_up(failure)
                before, self.failure = self.failure, error
                patience = getattr(error, "retry_after", None) or 0.0
                if self._is_not_served(error):
                    if not self._is_not_served(before):
                        self._go_on_without()
                elif getattr(error, "repeated", False):
                    vlog(log, 2, "Failed to watch", err=error, type=self._type)
                else:
                    log_error(log, error, "Failed to watch", type=self._type)
                if self._is_final(error):
                    self.synced.set()
            except Exception:
                # A bug, but it must not leave the scheduler with an outdated state.
                log.exception("Reflector failed", extra={"kv": {"type": self._type}})
            await self._clock.sleep(max(self._backoff.step(), patience))

    def distrust(self) -> None:
        """Count as not synced, and begin with the server's latest state; not while it runs."""
        self._version_unavailable = True
        self.synced.clear()

    def _is_final(self, error: MooringError) -> bool:
        """Return whether a failure means that the scheduler continues without this kind."""
        if self._is_not_served(error):
            return True
        refused = isinstance(error, ApiError) and error.is_forbidden
        return refused and self._dispensable and self._rights_known()

    async def _look_up(self, error: MooringError) -> MooringError:
        """Return why a kind that may be absent cannot be watched.

        A server refuses a request for lack of rights before it finds that it does not serve the
        kind; discovery, which needs no rights, tells the two apart.
        """
        if not (self._may_be_absent and isinstance(error, ApiError) and error.is_forbidden):
            return error
        try:
            served = await self._source.serves(self._kind)
        except MooringError:
            return error
        return error if served else ApiError(404, error.message, reason="NotFound")

    def _is_not_served(self, error: MooringError | None) -> bool:
        """Return whether a failure means that the server does not serve a kind it may lack."""
        return self._may_be_absent and isinstance(error, ApiError) and error.is_not_found

    def _go_on_without(self) -> None:
        """Report, once, that the server does not serve this kind; the store becomes empty."""
        message = NOT_SERVED if self._resource.custom else NOT_ENABLED
        log.warning(message, self._resource.name)
        self._replace((), "")
        self.is_populated = False

    async def _list_and_watch(self) -> None:
        vlog(log, 3, "Listing and watching", type=self._type)
        streamed = self._watch_list_wanted and await self._watch_list()
        if streamed is None:
            return
        if not streamed:
            await self._list()
            self._note_populated()
        while await self._watch():
            pass

    # The initial state.

    async def _watch_list(self) -> bool | None:
        """Read the initial state as a stream, and the changes after it until the stream ends.

        False if the server does not support that, None if everything must be listed again.
        """
        while True:
            version = "" if self._version_unavailable else self._version
            options = self._options(
                resource_version=version,
                resource_version_match="NotOlderThan",
                send_initial_events=True,
                allow_watch_bookmarks=True,
                timeout_seconds=self._timeout(),
            )
            stream: _Stream[T] = _Stream(self._clock.now(), initial={}, ordered=False)
            error = await self._run_stream(options, stream)
            if stream.initial is None:
                return True if await self._go_on(stream, error) else None
            if error is None:
                # The stream ended before the state was complete.
                error = NoAnswerError("the watch ended within its initial events", sent=True)
            if isinstance(error, NoAnswerError) or error.is_too_many_requests:
                self._report(error)
                await self._wait(error)
            elif error.is_gone or _is_too_large(error):
                if self._version_unavailable:
                    # Even the latest version is refused.
                    self._report(error)
                    await self._wait(error)
                self._version_unavailable = True
            else:
                vlog(
                    log,
                    4,
                    "Data couldn't be fetched in watchlist mode. Falling back to regular list.",
                    type=self._type,
                    err=error,
                )
                return False

    async def _list(self) -> None:
        """Read the state as a list."""
        version = self._version or "0"
        try:
            items, found = await self._pages("" if self._version_unavailable else version)
        except ApiError as error:
            if not (error.is_gone or _is_too_large(error)):
                raise
            self._version_unavailable = True
            items, found = await self._pages("")
        self._version_unavailable = False
        self._replace(items, found)

    async def _pages(self, version: str) -> tuple[list[T], str]:
        # A list at a version is served from the server's watch cache if it has no limit; at "0" it
        # is in any case, unless the cache is off.
        limit = PAGE_SIZE if self._paged or version in ("", "0") else 0
        items: list[T] = []
        token = found = ""
        expired = False
        while True:
            options = self._options(
                resource_version="" if token else version, limit=limit, continue_=token
            )
            try:
                page = await self._source.list(self._kind, self._selection.namespace, options)
            except ApiError as error:
                if expired or not (error.is_gone and token):
                    raise
                # The continue token has expired: list everything at once instead.
                items, limit, token, expired = [], 0, "", True
                continue
            items += page.items
            # The version of the first page is the version of the whole list.
            found = found if token else page.metadata.resource_version
            token = page.metadata.continue_
            if not token:
                return items, found
            if version == "0":
                self._paged = True

    # The changes.

    async def _watch(self) -> bool:
        """Watch once from the current version; False if everything must be listed again."""
        options = self._options(
            resource_version=self._version,
            allow_watch_bookmarks=True,
            timeout_seconds=self._timeout(),
        )
        ordered = self._version not in ("", "0")
        stream: _Stream[T] = _Stream(self._clock.now(), ordered=ordered)
        return await self._go_on(stream, await self._run_stream(options, stream))

    async def _go_on(self, stream: _Stream[T], error: ApiError | None) -> bool:
        """Return whether to resume the watch after it has ended."""
        if stream.silent:
            vlog(log, 4, "Watch silent - resuming on a new connection", type=self._type)
            return True
        if error is None:
            if stream.events or self._clock.now() - stream.started >= SHORT_WATCH:
                vlog(log, 4, "Watch close", type=self._type, totalItems=stream.events)
                await self._pause_if_short(stream)
                return True
            vlog(log, 0, WATCH_FAILED, type=self._type, err=VERY_SHORT_WATCH)
            return False
        if isinstance(error, NoAnswerError) and stream.events:
            vlog(log, 1, "Watch closed with unexpected EOF", type=self._type, err=error)
            await self._pause_if_short(stream)
            return True
        if isinstance(error, NoAnswerError) or error.is_too_many_requests:
            # When the server is back, it most likely still has our version.
            vlog(log, 4, "Watch failed - backing off", type=self._type, err=error)
            self.failure = error
            await self._wait(error)
            return True
        if error.is_gone:
            if stream.went_back:
                vlog(log, 0, WATCH_FAILED, type=self._type, err=error)
            else:
                vlog(log, 4, "Watch closed", type=self._type, err=error)
            return False
        raise error

    async def _run_stream(self, options: ListOptions, stream: _Stream[T]) -> ApiError | None:
        """Run one watch request to its end; return the error, None if the server ended it."""
        try:
            with self._paced.connection():
                try:
                    await self._read(options, stream)
                finally:
                    self._note_lost(stream)
        except ApiError as error:
            return error
        return None

    def _note_lost(self, stream: _Stream[T]) -> None:
        """Take note that a watch has ended, and since when it delivered nothing."""
        if stream.initial is not None or self.lost_since is not None or not self._paced.is_open:
            return
        silence = self._paced.silence()
        failed_silently = stream.silent or silence >= (self._idle_timeout or math.inf)
        self.lost_since = self._clock.now() - (silence if failed_silently else 0.0)

    async def _read(self, options: ListOptions, stream: _Stream[T]) -> None:
        async with (
            self._source.watch(
                self._kind, self._selection.namespace, options, idle_timeout=self._idle_timeout
            ) as watch,
            self._paced.reading(),
        ):
            if stream.initial is None:
                self._paced.opened()
                self.lost_since = None
            with ExitStack() as pause:
                if stream.initial is not None:
                    pause.enter_context(self._collector)
                async for batch in watch.batches():
                    self._take(batch, stream)
                    if stream.initial is None:
                        pause.close()
                        self.lost_since = None
                        # An incomplete initial state cannot be resumed, so it is not paced.
                        self._paced.heard(events=any(one.type != BOOKMARK for one in batch))
        stream.silent = self._paced.interrupted

    def _take(self, batch: list[WatchEvent[T]], stream: _Stream[T]) -> None:
        for event in batch:
            stream.events += 1
            meta = event.object.metadata
            stream.ordered = stream.ordered or event.type != ADDED
            if stream.initial is not None:
                self._take_initial(event, stream)
                continue
            version = meta.resource_version
            if stream.ordered and _is_older(version, self._version):
                stream.went_back = self._version_unavailable = True
                raise ApiError(410, WENT_BACK.format(self._version, version), reason="Expired")
            self._apply(event)
            if stream.ordered and version:
                self._version = version
        if stream.initial is None:
            self.failure = None

    def _take_initial(self, event: WatchEvent[T], stream: _Stream[T]) -> None:
        initial, meta = stream.initial, event.object.metadata
        assert initial is not None
        key = (meta.namespace, meta.name)
        if event.type in (ADDED, MODIFIED):
            initial[key] = event.object
        elif event.type == DELETED:
            initial.pop(key, None)
        elif event.type == BOOKMARK and meta.annotations.get(INITIAL_EVENTS_END) == "true":
            stream.initial = None
            self._version_unavailable = False
            self._replace(initial.values(), meta.resource_version)
            self._note_populated()

    def _apply(self, event: WatchEvent[T]) -> None:
        obj = event.object
        try:
            if event.type in (ADDED, MODIFIED):
                self._store.add(obj)
            elif event.type == DELETED:
                self._store.delete(obj.metadata.name, obj.metadata.namespace, last=obj)
            elif event.type != BOOKMARK:
                self._log_unknown(event)
        except Exception:
            log.exception("Handler failed", extra={"kv": {"type": self._type, "object": obj}})

    def _log_unknown(self, event: WatchEvent[T]) -> None:
        if number := self._unknown.count():
            name = cut_text(event.type, _LONGEST_TYPE)
            log_error(log, None, UNKNOWN_EVENT, type=self._type, event=name, count=number)

    def _replace(self, objects: Any, version: str) -> None:
        try:
            self._store.replace(objects)
        except Exception:
            log.exception("Handler failed", extra={"kv": {"type": self._type}})
        self._version = version

    def _note_populated(self) -> None:
        vlog(log, 2, "Caches populated", type=self._type)
        self.failure = None
        self.is_populated = True
        self.synced.set()

    def _report(self, error: ApiError) -> None:
        """Log an error; if it repeats, log it only at verbosity 2."""
        before, self.failure = self.failure, error
        if isinstance(before, ApiError) and before.message == error.message:
            vlog(log, 2, "Watch-list failed - backing off", type=self._type, err=error)
        else:
            log_error(log, error, "Failed to watch", type=self._type)

    async def _pause_if_short(self, stream: _Stream[T]) -> None:
        """Wait before a watch is resumed, if it was short as those before it were."""
        left = stream.started + SHORT_WATCH - self._clock.now()
        self._short_watches = self._short_watches + 1 if left > 0 else 0
        if self._short_watches > MOST_SHORT_WATCHES:
            await self._clock.sleep(left)

    async def _wait(self, error: ApiError) -> None:
        await self._clock.sleep(max(self._backoff.step(), error.retry_after or 0.0))

    def _timeout(self) -> int:
        return self._random.randint(*WATCH_SECONDS)

    def _options(self, **options: Any) -> ListOptions:
        chosen = self._selection
        return ListOptions(
            label_selector=chosen.label_selector, field_selector=chosen.field_selector, **options
        )


def _describe(kind: KindLike) -> str:
    """Return the name of a kind as client-go logs it."""
    resource = find_resource(kind)
    if resource.struct is CustomResource:
        return resource.name
    return f"*{resource.version}.{resource.struct.__name__}"


def _is_older(version: str, other: str) -> bool:
    """Return whether a resource version is older; only positive integers have an order."""
    # apimachinery: pkg/util/resourceversion/resourceversion.go
    if (len(version), version) >= (len(other), other):
        return False
    return all(
        text.isascii() and text.isdecimal() and not text.startswith("0")
        for text in (version, other)
    )


def _is_too_large(error: ApiError) -> bool:
    causes = error.details.get("causes") or ()
    return any(cause.get("reason") == "ResourceVersionTooLarge" for cause in causes)
