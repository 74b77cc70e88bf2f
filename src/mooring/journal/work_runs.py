"""The answers to plugins' requests on their way to the journal, and the last periodic runs.

A checkpoint needs the answers that plugins derived their state from, such as the measured load of
nodes. Only references are kept here; `AnswerEncoder` encodes the answers when they are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.api import KubeObject
from mooring.framework.handle import HttpAnswer
from mooring.journal.entries import CheckpointWork, Fetched
from mooring.journal.left_out import digest
from mooring.journal.omission import encode_object
from mooring.scheduler.tapped_clients import PrivateAnswer

#: Bodies with fewer bytes are always written in full.
_LONG = 1024
#: For how many requests the last body is remembered.
_MOST_BODIES = 64


class Fetch(msgspec.Struct, frozen=True):
    """An answer to a plugin's request, not encoded yet."""

    time: float
    request: str
    answer: Any
    error: str
    #: The name of the periodic work that sent the request; "" if none did.
    work: str = ""

    @property
    def succeeded(self) -> bool:
        """Return whether the request succeeded."""
        if self.error:
            return False
        return not isinstance(self.answer, HttpAnswer | PrivateAnswer) or (
            200 <= self.answer.status < 300
        )


class WorkRun(msgspec.Struct):
    """One run of a plugin's periodic work."""

    time: float
    work: str
    fetches: list[Fetch] = msgspec.field(default_factory=list)

    @property
    def succeeded(self) -> bool:
        """Return whether all requests so far have succeeded."""
        return all(fetch.succeeded for fetch in self.fetches)

    def entry(self) -> CheckpointWork:
        """Return the run as an entry of a checkpoint."""
        return CheckpointWork(self.time, self.work, tuple(map(encoded, self.fetches)))


class WorkRuns:
    """The last runs of each periodic work. Owned by the scheduling loop."""

    def __init__(self) -> None:
        self._current: dict[str, WorkRun] = {}
        #: The last run before the current one whose requests all succeeded.
        self._succeeded: dict[str, WorkRun] = {}

    def begin(self, time: float, work: str) -> None:
        """Start a run of a work; its previous run has ended."""
        before = self._current.get(work)
        if before is not None and before.succeeded:
            self._succeeded[work] = before
        self._current[work] = WorkRun(time, work)

    def add(self, fetch: Fetch) -> None:
        """Add an answer to the current run of its work."""
        run = self._current.get(fetch.work)
        if run is not None:
            run.fetches.append(fetch)

    def last(self) -> Sequence[WorkRun]:
        """Return copies of the runs that a checkpoint needs, in the order of their beginning."""
        runs = (*self._succeeded.values(), *self._current.values())
        copies = [WorkRun(run.time, run.work, list(run.fetches)) for run in runs]
        return sorted(copies, key=lambda run: run.time)


class AnswerEncoder:
    """An encoder of answers that leaves out a long body if the segment already has it.

    Bodies repeat because several plugins may ask one server, and because a server may measure less
    often than it is asked. Owned by the writing thread.
    """

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def begin_segment(self) -> None:
        """Forget the bodies of the previous segment, because each segment is read on its own."""
        self._bodies.clear()

    def encode(self, fetch: Fetch) -> Fetched:
        """Return the entry of an answer."""
        answer, bodies = fetch.answer, self._bodies
        if not isinstance(answer, HttpAnswer) or len(answer.body) < _LONG:
            return encoded(fetch)
        if bodies.get(fetch.request) == answer.body:
            return Fetched(
                fetch.time, fetch.request, answer.status, "", "", fetch.work, repeated=True
            )
        if fetch.request in bodies or len(bodies) < _MOST_BODIES:
            bodies[fetch.request] = answer.body
        return encoded(fetch)


def encoded(fetch: Fetch) -> Fetched:
    """Return the entry of an answer, with its whole body unless it is private."""
    answer, status = fetch.answer, 0
    # The resource follows the verb.
    kind = fetch.request.split(" ", 2)[1]
    if isinstance(answer, PrivateAnswer):
        return Fetched(
            fetch.time,
            fetch.request,
            answer.status,
            "",
            fetch.error,
            fetch.work,
            left_out=digest(answer.body),
        )
    if answer is None:
        body = ""
    elif isinstance(answer, HttpAnswer):
        status, body = answer.status, answer.body.decode(errors="replace")
    elif isinstance(answer, KubeObject):
        body = bytes(encode_object(answer, kind)).decode()
    else:
        body = msgspec.json.encode([encode_object(obj, kind) for obj in answer]).decode()
    return Fetched(fetch.time, fetch.request, status, body, fetch.error, fetch.work)
