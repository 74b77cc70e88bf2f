"""LeaderLink: the page's connection to the leading Mooring, open while the page is served.

The link looks for the leader and follows its decisions. When the connection breaks or the Lease
gets another holder, it looks for the leader again. If no Mooring leads or rights are missing, the
link's state says so, and it tries again later. The leader limits the questions per second of all
clients together, so the link limits its own rate.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.errors import ApiError, MooringError
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.data import ANSWER_VERSION
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.leader.leader_lookup import NoLeader, find_leader
from mooring.leader.port_forward import PortForwardError
from mooring.leader.scheduler_questions import (
    Answerer,
    NotKnown,
    SchedulerAddress,
    UnansweredError,
    ask_about_pod,
    ask_about_queue,
    ask_about_rules,
    follow_decisions,
    leases_of,
    opened_scheduler,
)
from mooring.observe.clock import Clock
from mooring.queue.queue_places import QueuePlace
from mooring.ui.seen_decisions import SeenDecisions

#: The minimal number of seconds between two questions.
QUESTION_SECONDS = 0.5
#: Seconds for which places in the queue are cached.
QUEUE_SECONDS = 2.0
#: Seconds to wait for the places in the queue before giving up.
PATIENCE = 3.0
#: Seconds between two reads of the Lease while its holder is followed.
LEASE_SECONDS = 10.0
#: Seconds before a lost leader is looked for again: doubled after each failure, up to the last.
FIRST_PAUSE, LAST_PAUSE = 1.0, 30.0
#: Seconds before a leader is looked for again if there was none.
ABSENT_PAUSE = 15.0

SEARCHING, ABSENT, LOST, LIMITED, LIVE = "searching", "absent", "lost", "limited", "live"

_SEEN = "Decisions are those that this page sees."
_FORBIDDEN = "The right to get leases in its namespace is needed; or name it with --scheduler."
_PORT_FORWARD = (
    "; the right to create pods/portforward is needed, or name its port with --scheduler"
)
_ELSEWHERE = "If one leads elsewhere, name it with --lease or --scheduler."


class LeaderBusyError(MooringError):
    """The leader is too busy to answer; the question may be asked again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the leader answers too many questions already; asked again in {seconds:.0f} s"
        )
        self.seconds = seconds


class LeaderState(msgspec.Struct, frozen=True):
    """The state of the page's connection to the leader."""

    #: "searching", "absent" (no Mooring leads), "lost" (the leader cannot be reached), "limited"
    #: (this user may not read its decisions) or "live".
    state: str = SEARCHING
    #: The leader; empty if none is known.
    who: str = ""
    #: What is missing and what to do, in one line.
    text: str = "Looking for a Mooring that leads."


class LeaderLink:
    """The connection to the leader. Owned by the event loop of the page."""

    def __init__(
        self,
        connection: Connection,
        client: Client,
        address: SchedulerAddress,
        decisions: SeenDecisions,
        *,
        scheduler_names: Callable[[], Sequence[str]],
        clock: Clock,
        user_agent: str,
    ) -> None:
        """Make a link to the leader of the cluster that `connection` and `client` reach.

        `scheduler_names` returns the profiles whose scheduler is looked for, the likeliest first.
        """
        self._connection = connection
        self._client = client
        self._address = address
        self._decisions = decisions
        self._names = scheduler_names
        self._clock = clock
        self._user_agent = user_agent
        self._answerer: Answerer | None = None
        #: The leader that was followed last.
        self._followed = ""
        #: The sequence number of the last decision that it sent.
        self._since = 0
        self._pause = FIRST_PAUSE
        self._asking = asyncio.Lock()
        #: The earliest time of the next question by our own limit, and by the leader's.
        self._next_question = self._busy_until = 0.0
        self._places: dict[str, QueuePlace] = {}
        self._places_at = 0.0
        #: Why the queue may not be read; empty if it may.
        self._no_queue = ""
        self.state = LeaderState()

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[LeaderLink]:
        """Keep the link open while the context lasts."""
        task = asyncio.create_task(self._run())
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    # Questions.

    async def explain(
        self, namespace: str, name: str, attempt: int | None
    ) -> dict[str, Any] | NotKnown | NoLeader:
        """Return what `mooring explain -o json` prints of the leader's answer about a pod.

        Return why there is none if the leader does not know the pod, or if nobody leads. Raise
        LeaderBusyError or UnansweredError.
        """
        async with self._turn() as answerer:
            if answerer is None:
                return NoLeader(self.state.text)
            found = await ask_about_pod(answerer, namespace, name, attempt, retries=0)
            if not isinstance(found, dict):
                return found
            return {"version": ANSWER_VERSION, "answeredBy": answerer.who, **found}

    async def places(self) -> Mapping[str, QueuePlace]:
        """Return the places of the pods in the leader's queue, by "namespace/name".

        They are at most `QUEUE_SECONDS` old. Raise LeaderBusyError, UnansweredError or
        TimeoutError.
        """
        if self._answerer is None:
            return {}
        if self._no_queue:
            raise UnansweredError(self._no_queue, 403)
        if self._clock.now() < self._places_at + QUEUE_SECONDS:
            return self._places
        async with asyncio.timeout(PATIENCE), self._turn() as answerer:
            now = self._clock.now()
            if answerer is None or now < self._places_at + QUEUE_SECONDS:
                return self._places
            self._places_at = now
            try:
                found = await ask_about_queue(answerer)
            except UnansweredError as error:
                self._no_queue = str(error) if error.status == 403 else ""
                raise
            self._places = {place.key: place for place in found.items}
            return self._places

    async def rules(self) -> SchedulerRules | NoLeader:
        """Return the rules by which the leader decides, or why there is no leader.

        Raise LeaderBusyError or UnansweredError.
        """
        async with self._turn() as answerer:
            if answerer is None:
                return NoLeader(self.state.text.removesuffix(_SEEN).strip())
            return await ask_about_rules(answerer)

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncIterator[Answerer | None]:
        """Wait until a question may be asked; yield the scheduler to ask, or None."""
        async with self._asking:
            now = self._clock.now()
            if now < self._busy_until:
                raise LeaderBusyError(self._busy_until - now)
            if now < self._next_question:
                await self._clock.sleep(self._next_question - now)
            self._next_question = self._clock.now() + QUESTION_SECONDS
            try:
                yield self._answerer
            except UnansweredError as error:
                if error.status != 429:
                    raise
                seconds = error.retry_after or 1.0
                self._busy_until = self._clock.now() + seconds
                raise LeaderBusyError(seconds) from None

    # The connection.

    async def _run(self) -> None:
        while True:
            try:
                pause = await self._connect()
            except MooringError as error:
                pause = self._lose(error)
            finally:
                self._leave()
            await self._clock.sleep(pause)

    async def _connect(self) -> float:
        """Follow the leader until it is lost; return the seconds to wait before a retry."""
        names = self._names()
        async with opened_scheduler(
            self._connection,
            self._client,
            self._address,
            scheduler_names=names,
            now=self._clock.wall_time(),
            user_agent=self._user_agent,
        ) as found:
            if isinstance(found, NoLeader):
                advice = _FORBIDDEN if found.is_forbidden else _ELSEWHERE
                text = f"No Mooring that leads was found: {found.reason}. {advice} {_SEEN}"
                self.state = LeaderState(ABSENT, text=text)
                return ABSENT_PAUSE
            if found.who != self._followed:
                # Each process counts its decisions from 1.
                self._followed, self._since = found.who, 0
            self._answerer = found
            return await _first_result(self._follow(found), self._watch_lease(found, names))

    async def _follow(self, leader: Answerer) -> float:
        """Receive the leader's decisions until the connection breaks or reading is forbidden."""
        while True:
            try:
                await self._receive(leader)
            except UnansweredError as error:
                if error.status not in (403, 404):
                    raise
                # The user may still have the right to explanations of pods, so stay connected.
                is_limited = error.status == 403
                what = "does not tell its decisions" if is_limited else "remembers no decisions"
                text = f"The leader {what}: {_line(error)}. {_SEEN}"
                self.state = LeaderState(LIMITED if is_limited else ABSENT, leader.who, text)
                await self._clock.sleep(LAST_PAUSE)
                return 0.0
            # The leader ends each stream after some time, in order to check rights again.
            await self._clock.sleep(FIRST_PAUSE)

    async def _receive(self, leader: Answerer) -> None:
        """Receive the decisions of one stream until it ends."""
        async for batch in follow_decisions(leader, self._since):
            if self.state.state != LIVE:
                self._pause = FIRST_PAUSE
                self._decisions.leader_reports = True
                self.state = LeaderState(LIVE, leader.who, f"Told by {leader.who}.")
            for event in batch:
                if event.name == "decision":
                    record = _decode_record(event.data, leader.who)
                    self._decisions.add_record(record)
                    self._since = record.sequence
                elif event.name == "reset":
                    self._since = 0
                elif event.name == "gap":
                    text = f"Told by {leader.who}, which has forgotten some older decisions."
                    self.state = LeaderState(LIVE, leader.who, text)

    async def _watch_lease(self, followed: Answerer, names: Sequence[str]) -> float:
        """Return once the Lease has another holder; never if the leader was found without one."""
        while True:
            await self._clock.sleep(LEASE_SECONDS)
            if followed.leader is None:
                continue
            leases = leases_of(self._address, names)
            # If the API server does not answer, keep following the leader.
            with contextlib.suppress(ApiError):
                found = await find_leader(self._client, leases, self._clock.wall_time())
                if found != followed.leader:
                    return 0.0

    def _lose(self, error: MooringError) -> float:
        pause, self._pause = self._pause, min(2 * self._pause, LAST_PAUSE)
        if isinstance(error, UnansweredError) and error.retry_after:
            pause = error.retry_after
        advice = _PORT_FORWARD if isinstance(error, PortForwardError) else ""
        reason = f"The leader cannot be followed: {_line(error)}{advice}."
        self.state = LeaderState(LOST, text=f"{reason} Asked again in {pause:.0f} s. {_SEEN}")
        return pause

    def _leave(self) -> None:
        """Reset the state that depends on the connection."""
        self._answerer = None
        self._decisions.leader_reports = False
        self._places, self._places_at, self._no_queue = {}, 0.0, ""
        if self.state.state in (LIVE, LIMITED):
            self.state = LeaderState(SEARCHING)


async def _first_result(*coroutines: Coroutine[Any, Any, float]) -> float:
    """Run coroutines at the same time; return the result of the first, and cancel the others."""
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task.result() for task in tasks if task.done())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _decode_record(data: bytes, who: str) -> AttemptRecord:
    try:
        return msgspec.json.decode(data, type=AttemptRecord)
    except msgspec.MsgspecError as error:
        raise MooringError(f"{who}: a decision cannot be read: {error}") from None


def _line(error: MooringError) -> str:
    """Return the text of an error as one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".")
