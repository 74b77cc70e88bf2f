"""RecordedWork: runs the periodic work of plugins when the recorded scheduler ran it."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

from mooring.errors import NoAnswerError, safe_url
from mooring.framework.handle import HttpAnswer
from mooring.framework.plugin import Plugin
from mooring.replay.recorded_answers import RecordedAnswers, RecordedRequest
from mooring.scheduler.periodic_work import Work, WorkNames
from mooring.scheduler.tapped_clients import OpenRequests

LEFT_OUT_ANSWER = "the journal leaves out this answer, because it may hold secrets"


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

    def __init__(
        self,
        answers: RecordedAnswers,
        *,
        lenient: bool = False,
        plugin: str = "",
        requests: OpenRequests | None = None,
    ) -> None:
        self._answers = answers
        self._lenient = lenient
        self._plugin = plugin
        self._requests = OpenRequests() if requests is None else requests

    def for_plugin(self, plugin: type[Plugin]) -> RecordedHttpClient:
        """Return the client of a plugin."""
        return RecordedHttpClient(
            self._answers, lenient=self._lenient, plugin=plugin.name, requests=self._requests
        )

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Return the recorded answer to GET; raise NoAnswerError if the journal leaves it out."""
        work = self._answers.running_work
        if self._lenient and not work:
            raise NoAnswerError("a replay has no network", sent=False, url=safe_url(url))
        request = self._requests.begin(work, url)
        try:
            found = await RecordedRequest(request, f"GET {url}")
        finally:
            self._requests.end(work, request)
        if found.left_out:
            self._answers.lacking.add(self._plugin)
            raise NoAnswerError(LEFT_OUT_ANSWER, sent=True, url=safe_url(url))
        return HttpAnswer(found.status, found.body.encode())
