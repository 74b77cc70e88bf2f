"""A scripted source of objects, for tests in virtual time."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mooring.api import ObjectMeta, Pod
from mooring.client.collector import CollectorPause
from mooring.client.resources import ListOptions
from mooring.client.responses import ListMeta, ObjectList
from mooring.client.watch import BOOKMARK, INITIAL_EVENTS_END, WatchEvent
from mooring.client.watch_pacer import WatchPacer
from mooring.errors import ApiError
from mooring.informers.reflector import Reflector
from mooring.informers.store import EventHandler, Store
from tests.client.fakes import RecordingClock
from tests.support.waiting import PATIENCE

#: The error of a server that cannot stream an initial state.
UNSUPPORTED = ApiError(422, "sendInitialEvents is forbidden", reason="Invalid")
GONE = ApiError(410, "too old resource version", reason="Expired")


def pod(name: str, version: int, **labels: str) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            name=name, namespace="team", uid=name, resource_version=str(version), labels=labels
        )
    )


def event(type_: str, name: str, version: int) -> WatchEvent[Pod]:
    return WatchEvent(type_, pod(name, version))


def bookmark(version: int, *, end: bool = False) -> WatchEvent[Pod]:
    annotations = {INITIAL_EVENTS_END: "true"} if end else {}
    meta = ObjectMeta(resource_version=str(version), annotations=annotations)
    return WatchEvent(BOOKMARK, Pod(metadata=meta))


def page(version: int, *names: str, more: str = "") -> ObjectList[Pod]:
    items = [pod(name, version) for name in names]
    return ObjectList(ListMeta(str(version), more), items)


class Lasting:
    """A step that lets a stream last some virtual seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Silence:
    """A step at which nothing arrives for some seconds of the event loop, by default forever."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds


class _Watch:
    def __init__(self, steps: list[Any], clock: RecordingClock) -> None:
        self._steps = steps
        self._clock = clock

    async def batches(self) -> AsyncIterator[list[WatchEvent[Pod]]]:
        for step in self._steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, Lasting):
                self._clock.advance(step.seconds)
            elif isinstance(step, Silence):
                await (asyncio.sleep(step.seconds) if step.seconds < math.inf else _forever())
            else:
                yield step if isinstance(step, list) else [step]


async def _forever() -> None:
    await asyncio.Event().wait()


class ScriptedSource:
    """A source that serves lists and watches in turn; after the script it sets `over` and hangs.

    A watch is a list of steps: events, batches, failures, `Lasting`, `Silence`. An exception in
    place of the list refuses the watch.
    """

    def __init__(
        self, clock: RecordingClock, *, lists: Any = (), watches: Any = (), serves: Any = True
    ) -> None:
        self.collector = CollectorPause()
        self.pacer = WatchPacer()
        self._serves = serves
        self.asked: list[tuple[str, ListOptions]] = []
        #: The kind of each watch.
        self.watched: list[Any] = []
        self.over = asyncio.Event()
        self._clock = clock
        self._lists = list(lists)
        self._watches = list(watches)

    async def list(
        self, kind: Any, namespace: str = "", options: ListOptions | None = None
    ) -> ObjectList[Any]:
        assert options is not None
        self.asked.append(("list", options))
        answer = await self._next(self._lists)
        assert isinstance(answer, ObjectList)
        return answer

    @asynccontextmanager
    async def watch(
        self,
        kind: Any,
        namespace: str = "",
        options: ListOptions | None = None,
        *,
        idle_timeout: float | None = None,
    ) -> AsyncIterator[Any]:
        assert options is not None
        self.asked.append(("watch", options))
        self.watched.append(kind)
        steps = await self._next(self._watches)
        yield _Watch(steps, self._clock)

    async def serves(self, kind: Any) -> bool:
        if isinstance(self._serves, Exception):
            raise self._serves
        return bool(self._serves)

    async def _next(self, script: list[Any]) -> Any:
        if not script:
            self.over.set()
            await _forever()
        answer = script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def versions(self, verb: str) -> list[str]:
        return [options.resource_version for asked, options in self.asked if asked == verb]


class Run:
    """A reflector on a script, and its results."""

    def __init__(
        self,
        *,
        lists: Any = (),
        watches: Any = (),
        serves: Any = True,
        kind: Any = Pod,
        **options: Any,
    ) -> None:
        self.clock = RecordingClock()
        self.source = ScriptedSource(self.clock, lists=lists, watches=watches, serves=serves)
        self.store: Store[Pod] = Store()
        self.told: list[str] = []
        self.store.add_handler(
            EventHandler(
                on_add=lambda new: self.told.append(f"+{new.name}"),
                on_update=lambda old, new: self.told.append(
                    f"{old.metadata.resource_version}>{new.metadata.resource_version} {new.name}"
                ),
                on_delete=lambda old: self.told.append(f"-{old.name}"),
            )
        )
        self.reflector: Reflector[Pod] = Reflector(
            kind, self.source, self.store, clock=self.clock, **options
        )

    async def to_the_end(self) -> Run:
        task = asyncio.create_task(self.reflector.run())
        try:
            async with asyncio.timeout(PATIENCE):
                await self.source.over.wait()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return self

    @property
    def names(self) -> list[str]:
        return sorted(one.name for one in self.store.list())
