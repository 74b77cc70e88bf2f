"""A scripted leader behind the API server of a local cluster; tests define its responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.transport import Request, Response
from mooring.errors import NoAnswerError
from mooring.explain.attempt_record import AttemptRecord
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.observe.clock import VirtualClock
from mooring.serve.explain_paths import GROUP
from mooring.ui.leader_link import LeaderLink
from mooring.ui.seen_decisions import SeenDecisions
from tests.client.fakes import answer, failure, settle

WHO = "the scheduler of the local cluster https://server:6443"
EMPTY_QUEUE = {"version": 1, "items": [], "continue": "", "total": 0}


def ours(code: int, reason: str, message: str, kind: str = "explanations", **headers: str) -> Any:
    """Return a failure as /explain/v1 writes it."""
    details = {"group": GROUP, "kind": kind}
    return answer(code, failure(code, reason, message, details=details), **headers)


LOCAL = ours(404, "NotFound", "there is no path /explain/v1")


class SteppedClock(VirtualClock):
    """A clock at which sleeping tasks wait until a test moves it."""

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if not seconds:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now() + seconds, future))
        await future

    async def move(self, seconds: float) -> None:
        """Move the clock, and let tasks run."""
        self.advance(seconds)
        due = [one for one in self._sleepers if one[0] <= self.now()]
        self._sleepers = [one for one in self._sleepers if one[0] > self.now()]
        for _, future in due:
            if not future.done():
                future.set_result(None)
        await settle()


class _Stream:
    def __init__(self, answered: Response, chunks: asyncio.Queue[Any]) -> None:
        self.status = answered.status
        self.headers = answered.headers
        self._body = answered.body
        self._chunks = chunks

    async def chunks(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    async def read(self) -> bytes:
        return self._body


class ScriptedLeader:
    """A transport to the server; tests change its answers."""

    server = "https://server:6443"

    def __init__(self) -> None:
        #: Each target that was asked for, in order.
        self.asked: list[str] = []
        #: The responses by the beginning of the target; exceptions are raised.
        self.answers: dict[str, Response | Exception] = {
            "/explain/v1/queue": answer(200, EMPTY_QUEUE),
            "/explain/v1": LOCAL,
        }
        #: The response in place of a stream.
        self.refusal: Response | Exception | None = None
        self._streams: list[asyncio.Queue[Any]] = []

    async def send(self, request: Request) -> Response:
        """Return the answer whose key is the longest prefix of the target."""
        self.asked.append(request.target)
        fitting = [key for key in self.answers if request.target.startswith(key)]
        found = self.answers[max(fitting, key=len)]
        if isinstance(found, Exception):
            raise found
        return found

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[_Stream]:
        """Yield a stream of the events that a test sends."""
        self.asked.append(request.target)
        if isinstance(self.refusal, Exception):
            raise self.refusal
        self._streams.append(asyncio.Queue())
        if self.refusal is not None:
            yield _Stream(self.refusal, self._streams[-1])
        else:
            self._streams[-1].put_nowait(b":\n\n")
            yield _Stream(answer(200, b""), self._streams[-1])

    async def say(self, name: str, data: Any = None) -> None:
        """Send an event in the newest stream."""
        text = b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
        self._streams[-1].put_nowait(text)
        await settle()

    async def end(self, error: Exception | None = None) -> None:
        """End the newest stream, or break it."""
        self._streams[-1].put_nowait(error)
        await settle()

    async def lose(self) -> None:
        """Break the newest stream."""
        await self.end(NoAnswerError("connection reset", sent=True))

    def refusal_hint(self) -> str:
        """Return no hint."""
        return ""

    async def close(self) -> None:
        """Do nothing."""


class LinkedPage:
    """A link to a scripted leader, with its clock and the decisions that it adds to."""

    def __init__(self, link: LeaderLink, leader: ScriptedLeader, clock: SteppedClock) -> None:
        self.link = link
        self.leader = leader
        self.clock = clock


@asynccontextmanager
async def linked(
    leader: ScriptedLeader,
    decisions: SeenDecisions | None = None,
    *,
    connection: Connection | None = None,
    address: SchedulerAddress | None = None,
    names: Callable[[], Sequence[str]] = lambda: ["default-scheduler"],
    start: float = 1_000_000.0,
) -> AsyncIterator[LinkedPage]:
    """Open a link to a scripted leader."""
    clock = SteppedClock(start)
    link = LeaderLink(
        connection or Connection(server="https://api.invalid"),
        Client(leader, clock=clock),
        address or SchedulerAddress(),
        SeenDecisions(clock.now) if decisions is None else decisions,
        scheduler_names=names,
        clock=clock,
        user_agent="test",
    )
    async with link.opened():
        await settle()
        yield LinkedPage(link, leader, clock)


def record(sequence: int, attempt: int = 1, name: str = "web", **more: Any) -> AttemptRecord:
    """Return a record of an attempt."""
    return AttemptRecord(
        sequence=sequence,
        namespace="shop",
        name=name,
        uid=f"uid-{name}",
        profile="default-scheduler",
        attempt=attempt,
        **{"time": float(sequence), "outcome": "scheduled", "node": "n1", **more},
    )
