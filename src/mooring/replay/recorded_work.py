"""RecordedWork: runs the periodic work of plugins when the recorded scheduler ran it."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

from mooring.errors import NoAnswerError
from mooring.framework.handle import HttpAnswer
from mooring.replay.recorded_answers import RecordedAnswers, RecordedRequest
from mooring.scheduler.periodic_work import Work, WorkNames


class RecordedWork:
    """The periodic work of a replay (`scheduler.periodic_work.RepeatedWork`).

    Work that is not in the journal, because other rules added its plugin, never runs.
    """

    def __init__(self, answers: RecordedAnswers) -> None:
        self._answers = answers
        self._names = WorkNames()
        self._works: dict[str, Work] = {}
        #: The last runs that had to wait for an answer.
        self._runs: dict[str, Coroutine[Any, Any, None]] = {}

    def add(self, seconds: float, work: Work) -> None:
        """Add work, which runs whenever the recorded scheduler ran it."""
        self._works[self._names.name(work)] = work

    def start(self) -> None:
        """Do nothing: `begin` starts each run when the journal says so."""

    def begin(self, name: str) -> None:
        """Start a run until it waits for an answer; drop the previous run if it still waits."""
        work, before = self._works.get(name), self._runs.pop(name, None)
        if before is not None:
            self._drop(before)
        if work is None:
            return
        run = work()
        if not self._answers.start(run, name):
            self._runs[name] = run

    async def close(self) -> None:
        """Drop the runs that wait."""
        for run in self._runs.values():
            self._drop(run)
        self._runs.clear()

    def _drop(self, run: Coroutine[Any, Any, None]) -> None:
        if inspect.getcoroutinestate(run) is not inspect.CORO_CLOSED:
            self._answers.drop(run)


class RecordedHttpClient:
    """A client of other servers (`framework.handle.HttpClient`) that answers as recorded.

    With `lenient`, only requests of periodic work get recorded answers.
    """

    def __init__(self, answers: RecordedAnswers, *, lenient: bool = False) -> None:
        self._answers = answers
        self._lenient = lenient

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Return the recorded answer to GET."""
        if self._lenient and not self._answers.running_work:
            raise NoAnswerError("a replay has no network", sent=False, url=url)
        found = await RecordedRequest(f"GET {url}")
        return HttpAnswer(found.status, found.body.encode())
