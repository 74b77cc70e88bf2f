"""Schedulers on virtual time against a simulated API server that attacks them."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from random import Random

import pytest
from msgspec.structs import replace

from mooring.client.transport import Request, Response
from tests.soak.api_server import ApiServer, FailedStream
from tests.soak.bind_checks import Ledger
from tests.soak.faults import FaultPlan, StreamEnd, draw_weather
from tests.soak.invariants import check_statuses, reckon
from tests.soak.lease_checks import LeaseJudge
from tests.soak.object_store import NODES, PODS, Json, ObjectStore
from tests.soak.replica import Replica
from tests.soak.scenarios import SCHEDULER
from tests.soak.scheduler_sets import Settings, settings_of
from tests.soak.soak import BUGS
from tests.soak.target import Target
from tests.soak.watch_stream import WatchStream
from tests.support.virtual_loop import LoopClock, VirtualLoop, run_virtually

#: No fault but those of the attack; watches last five to ten minutes.
CALM = replace(
    draw_weather(Random(0), 90.0),
    requests=0.0,
    stream_seconds=0.0,
    slow=0.0,
    duplicates=0.0,
    watch_list=True,
    warming=0.0,
)
NAMESPACE = "default"


class LyingStream(WatchStream):
    """A watch that sends what an attack makes of its events, and more."""

    _server: HostileApiServer
    #: Lines to send next, which no change has caused.
    said: tuple[bytes, ...] = ()
    #: Until this time of the loop, nothing is sent.
    silent_until = 0.0

    def silence(self, seconds: float) -> None:
        """Send nothing for some seconds; what was lost meanwhile comes afterwards."""
        loop = asyncio.get_running_loop()
        self.silent_until = loop.time() + seconds
        loop.call_later(seconds, self.changed, self._collection)

    def say(self, *lines: bytes) -> None:
        """Send these lines."""
        self.said += lines
        self.changed(self._collection)

    @property
    def collection(self) -> str:
        """Return the path of the collection that is watched."""
        return self._collection

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the changes; if the attack says so, end after a bookmark."""
        ends = self._server.ends_at_once
        if ends is None or self._version is None:
            async for chunk in super().chunks():
                yield chunk
            return
        yield self._bookmark({})
        async for chunk in self._end(ends):
            yield chunk

    def next_lines(self) -> bytes:
        """Return the lines to send next; empty if there are none."""
        if asyncio.get_running_loop().time() < self.silent_until:
            return b""
        if self.said:
            said, self.said = self.said, ()
            return b"".join(said)
        return self._server.lie(self._collection, super().next_lines())


class PagedFaults(FaultPlan):
    """No faults, and pages of a size of the server's choice."""

    #: How many objects a page has, whatever limit is wanted; None for as many as wanted.
    page_size: int | None = None

    def page(self, limit: int) -> int:
        """Return how many objects a page of a list has."""
        return self.page_size or super().page(limit)


class HostileApiServer(ApiServer):
    """An API server with the lies and refusals of an attack, which counts its requests."""

    stream_type = LyingStream

    def __init__(self, store: ObjectStore, faults: PagedFaults) -> None:
        super().__init__(store, faults, LoopClock())
        self.faults: PagedFaults = faults
        #: How resumed watches end after their first bookmark; None if they last.
        self.ends_at_once: StreamEnd | None = None
        #: Returns what a watch of a collection sends instead of these lines.
        self.lie: Callable[[str, bytes], bytes] = lambda collection, lines: lines
        #: Returns the refusal of a request, or None.
        self.refuse: Callable[[Request], Response | None] = lambda request: None
        #: The requests that arrived since the last `take_requests`.
        self._requests: list[Request] = []

    async def answer(self, request: Request) -> Response:
        """Count a request, and apply it unless the attack refuses it."""
        self._requests.append(request)
        refusal = self.refuse(request)
        return await super().answer(request) if refusal is None else refusal

    def open(self, request: Request, idle_timeout: float | None) -> WatchStream | FailedStream:
        """Count a watch, and start it unless the attack refuses it."""
        self._requests.append(request)
        refusal = self.refuse(request)
        return super().open(request, idle_timeout) if refusal is None else FailedStream(refusal)

    def take_requests(self) -> Counter[str]:
        """Return how many requests each collection got since the last call."""
        taken, self._requests = self._requests, []
        return Counter(Target.of(request.target).collection for request in taken)

    def say(self, collection: str, *lines: bytes) -> None:
        """Send lines on every watch of a collection."""
        for stream in list(self.streams):
            if isinstance(stream, LyingStream) and stream.collection == collection:
                stream.say(*lines)

    def be_honest(self) -> None:
        """End the attack: every client must list everything again."""
        self.lie = lambda collection, lines: lines
        self.refuse = lambda request: None
        self.ends_at_once = self.faults.page_size = None
        # Events and versions that were only claimed are not in the store: they are too old now.
        self.store.version += 2**33
        self.store.compact()
        for stream in list(self.streams):
            stream.cut()


class LogLines(logging.Handler):
    """The log of the package while this is entered."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())

    def __enter__(self) -> LogLines:
        self._log = logging.getLogger("mooring")
        self._before = self._log.propagate, self._log.level, list(self._log.handlers)
        self._log.propagate, self._log.handlers = False, [self]
        self._log.setLevel(logging.INFO)
        return self

    def __exit__(self, *_: object) -> None:
        self._log.propagate, level, self._log.handlers = self._before
        self._log.setLevel(level)


class AttackedCluster:
    """A hostile API server, and the schedulers that use it. Owned by one virtual loop."""

    def __init__(
        self,
        log: LogLines,
        settings: Settings | None = None,
        *,
        replicas: int = 1,
        strangers: bool = False,
    ) -> None:
        self.log = log
        self.store = ObjectStore()
        self.server = HostileApiServer(self.store, PagedFaults(CALM, Random(0)))
        elects = replicas > 1
        chosen = settings_of((SCHEDULER,), elects) if settings is None else settings
        self.ledger = Ledger(self.server)
        #: Whether watches say that bound pods are pending or gone, which must be believed: a
        #: server that was restored from a backup says so too. The API server refuses the binds.
        self.must_be_believed = False
        self.lease_judge: LeaseJudge | None = None
        if elects and not strangers:
            self.lease_judge = LeaseJudge(self.server, chosen.config.config.leader_election)
        self.replicas = [
            Replica(f"scheduler-{number}", chosen, self.server, 0) for number in range(replicas)
        ]

    def start(self) -> None:
        """Start the schedulers."""
        for replica in self.replicas:
            replica.start()

    def add_nodes(self, number: int, cpu: int = 4) -> None:
        """Add nodes with so many processors."""
        first = len(self.store.list(NODES))
        for index in range(first, first + number):
            self.store.create(NODES, make_node(f"node-{index}", cpu))

    def add_pods(self, number: int, prefix: str = "pod", cpu: str = "1") -> None:
        """Add pending pods."""
        for index in range(number):
            self.store.create(PODS, make_pod(f"{prefix}-{index}", cpu))

    @property
    def bound(self) -> int:
        """Return how many pods have a node."""
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.store.list(PODS))

    async def problems(self) -> list[str]:
        """Return what is wrong, once nothing is in progress."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        elected = len(self.replicas) > 1
        texts = [*map(str, loop.failures)]
        if not self.must_be_believed:
            texts += [*self.ledger.violations, *check_statuses(self.store)]
        for judge in (*self.replicas, self.lease_judge):
            if judge is not None:
                texts += judge.violations
        for replica in self.replicas:
            assert replica.scheduler is not None
            texts += await reckon(
                replica.scheduler, self.store, leads=replica.leads, elected=elected
            )
        if sum(replica.leads for replica in self.replicas) != 1:
            texts.append("not one scheduler leads")
        return texts + sorted(BUGS.intersection(self.log.lines))


def make_node(name: str, cpu: int = 4) -> Json:
    """Return a node."""
    offer = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": offer, "capacity": offer},
    }


def make_pod(name: str, cpu: str = "1") -> Json:
    """Return a pending pod."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"schedulerName": SCHEDULER, "containers": [container], "priority": 0},
        "status": {"phase": "Pending"},
    }


def attack(
    scenario: Callable[[AttackedCluster], Awaitable[None]],
    settings: Settings | None = None,
    *,
    replicas: int = 1,
    strangers: bool = False,
) -> LogLines:
    """Run an attack on virtual time, and return the log; nothing may be wrong at its end.

    The scenario starts the schedulers, and ends when nothing is in progress. With `strangers`,
    others write the Lease, so its rules are not checked.
    """

    async def run() -> None:
        cluster = AttackedCluster(log, settings, replicas=replicas, strangers=strangers)
        await scenario(cluster)
        if problems := await cluster.problems():
            pytest.fail("\n".join(problems))

    with LogLines() as log:
        run_virtually(run(), Random(0))
    return log
