"""ExplainPaths: the answers of /explain/v1, whatever server received the request.

All of it is for readers who may `get` the path. A pod's explanation is also for readers who may
`get` the pod: without values, amounts and names of nodes unless the reader may `list` nodes
(`limited_answer`), and without the names of other pods unless the reader may `get` them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from mooring.errors import ObjectError
from mooring.explain.explainer import LONGEST_PAGE, PAGE
from mooring.explain.journal_questions import REPLAY_SECONDS
from mooring.explain.limited_answer import limited_answer
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.questions import AnswerLimitError, TooManyQuestions, UnknownPodError
from mooring.explain.redaction import hide_nodes, hide_pods, mentioned_pods
from mooring.serve.decision_stream import CONTENT_TYPE, DecisionStream
from mooring.serve.explanations import ExplanationReader, Explanations

T = TypeVar("T")

ROOT = "/explain"
#: Version of the format of /explain/v1/queue.
VERSION = 1
#: The group of the details of each failure, by which a client knows who answered.
GROUP = "mooring.dev"
#: The kind of the details if nothing can be asked at all.
NO_RECORDS = "records"

#: Seconds for which a question may wait for the scheduling loop.
QUESTION_SECONDS = 30.0
#: How many readers may follow the decisions at a time.
MOST_STREAMS = 32
#: How many of the pods that an explanation mentions are looked up; the others are hidden.
MOST_MENTIONED = 100

OFF = "this scheduler keeps no records: it runs with --explain-memory=0"
UNKNOWN_RULES = "the rules of this scheduler are not known"
NO_SCHEDULER = "this cluster runs no scheduler"
_FULL = f"{MOST_STREAMS} readers follow the decisions already"
_STOPPING = "the server is stopping"

_REASONS = {
    400: "BadRequest",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class ExplainRequest(msgspec.Struct, frozen=True):
    """A request for one of the paths."""

    method: str
    #: The path without percent-encoding.
    path: str
    query: Mapping[str, Sequence[str]]
    #: The value of the header Last-Event-ID.
    last_event_id: str = ""


class ExplainAnswer(msgspec.Struct):
    """A response: a body in JSON, or a stream."""

    code: int
    body: bytes = b""
    headers: dict[str, str] = {}
    stream: DecisionStream | None = None


class ExplainFailure(Exception):
    """A failure that becomes a Status."""

    def __init__(
        self,
        code: int,
        message: str,
        *,
        kind: str = "explanations",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.retry_after = retry_after

    @property
    def answer(self) -> ExplainAnswer:
        """Return the response, with a Status as the API server writes it."""
        details: dict[str, Any] = {"group": GROUP, "kind": self.kind}
        headers: dict[str, str] = {}
        if self.code == 405:
            headers["Allow"] = "GET"
        if self.retry_after is not None:
            seconds = max(1, math.ceil(self.retry_after))
            headers["Retry-After"] = str(seconds)
            details["retryAfterSeconds"] = seconds
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": _REASONS[self.code],
            "details": details,
            "code": self.code,
        }
        return ExplainAnswer(self.code, msgspec.json.encode(status), headers)


class ExplainPaths:
    """The dispatcher of requests below /explain. Belongs to the loop that serves.

    `source` is None if nothing can be asked, and `absent` says why. `leader` returns who leads if
    this process does not, and None if it does.
    """

    def __init__(
        self,
        source: Explanations | None,
        *,
        absent: str = OFF,
        leader: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._source = source
        self._absent = absent
        self._leader = leader
        self._streams: set[DecisionStream] = set()
        self._stopping = False

    def stop(self) -> None:
        """End the streams, and begin no others: a server that stops waits for its responses."""
        self._stopping = True
        for stream in self._streams:
            stream.end()

    async def answer(self, request: ExplainRequest, reader: ExplanationReader) -> ExplainAnswer:
        """Return the response; raise ApiError if the reader's rights cannot be decided."""
        try:
            return await self._answer(request, reader)
        except ExplainFailure as failure:
            return failure.answer

    async def _answer(self, request: ExplainRequest, reader: ExplanationReader) -> ExplainAnswer:
        if request.method != "GET":
            raise ExplainFailure(405, f"{request.path} is read with GET, not {request.method}")
        is_full = await reader.may_get_path(request.path)
        match request.path.removeprefix(ROOT).split("/"):
            case ["", "v1", "namespaces", namespace, "pods", name] if namespace and name:
                if not is_full and not await reader.may_get_pod(namespace, name):
                    raise _forbidden(reader, request, f' nor get pod "{namespace}/{name}"')
                found = await self._explain(request, namespace, name)
                # On another thread: there may be many nodes, and this one renews the lease.
                data = await asyncio.to_thread(found.data)
                return _json(data if is_full else await self._limited(found, data, reader))
            case _ if not is_full:
                raise _forbidden(reader, request)
            case ["", "v1", "rules"]:
                return self._rules()
            case ["", "v1", "queue"]:
                return await self._queue(request)
            case ["", "v1", "decisions"]:
                return self._decisions(request)
        raise ExplainFailure(404, f"there is no path {request.path}")

    async def _explain(self, request: ExplainRequest, namespace: str, name: str) -> LiveExplanation:
        source = self._asked()
        # Attempt 0 is one that nobody made: the plugins are asked now.
        attempt = _whole(request, "attempt", 0)
        try:
            return await _in_time(
                source.explain_pod(namespace, name, attempt), QUESTION_SECONDS + REPLAY_SECONDS
            )
        except UnknownPodError as error:
            raise ExplainFailure(404, str(error), kind="pods") from None
        except ObjectError as error:
            raise ExplainFailure(404, str(error), kind="profiles") from None

    async def _limited(
        self, found: LiveExplanation, data: dict[str, Any], reader: ExplanationReader
    ) -> Any:
        """Return what a reader may see who has no right to the path."""
        may_list_nodes = await reader.may_list_nodes()
        if not may_list_nodes:
            data = await asyncio.to_thread(limited_answer, data)
        own = f"{data['namespace']}/{data['name']}"
        hidden: set[str] = set()
        # On another thread, as all that looks at every node.
        mentioned = await asyncio.to_thread(mentioned_pods, data)
        for looked_up, key in enumerate(sorted(mentioned - {own})):
            namespace, _, name = key.partition("/")
            if looked_up >= MOST_MENTIONED or not (
                await reader.may_get_pod(namespace, "") or await reader.may_get_pod(namespace, name)
            ):
                hidden.add(key)
        shown = await asyncio.to_thread(hide_pods, data, hidden)
        if may_list_nodes:
            return shown
        known = await self._asked().node_names()
        return await asyncio.to_thread(hide_nodes, shown, known, found.pod_words)

    async def _queue(self, request: ExplainRequest) -> ExplainAnswer:
        source = self._asked()
        limit = min(_whole(request, "limit", 1) or PAGE, LONGEST_PAGE)
        question = source.queue_page(_first(request, "continue"), limit)
        page = await _in_time(question, QUESTION_SECONDS)
        return _json({"version": VERSION, **msgspec.to_builtins(page)})

    def _rules(self) -> ExplainAnswer:
        found = self._asked().rules()
        if found is None:
            raise ExplainFailure(404, UNKNOWN_RULES, kind="rules")
        return _json(found)

    def _decisions(self, request: ExplainRequest) -> ExplainAnswer:
        source = self._asked()
        since = request.last_event_id or _first(request, "since") or "0"
        if not (since.isascii() and since.isdigit() and len(since) < 19):
            raise ExplainFailure(400, f"since must be a sequence number, got {since!r}")
        if len(self._streams) >= MOST_STREAMS:
            raise ExplainFailure(429, _FULL, retry_after=10.0)
        stream = DecisionStream(source, int(since), self._streams.discard)
        self._streams.add(stream)
        return ExplainAnswer(200, headers={"Content-Type": CONTENT_TYPE}, stream=stream)

    def _asked(self) -> Explanations:
        """Return the scheduler to ask; raise if it cannot be asked here and now."""
        if self._stopping:
            raise ExplainFailure(503, _STOPPING, retry_after=1.0)
        leader = self._leader()
        if leader is not None:
            text = f"the leader is {leader}" if leader else "no replica leads"
            raise ExplainFailure(503, f"this replica does not lead: {text}")
        if self._source is None:
            raise ExplainFailure(404, self._absent, kind=NO_RECORDS)
        return self._source


def _json(found: Any) -> ExplainAnswer:
    return ExplainAnswer(200, msgspec.json.encode(found))


def _forbidden(
    reader: ExplanationReader, request: ExplainRequest, more: str = ""
) -> ExplainFailure:
    text = f'forbidden: User "{reader.name}" cannot get path "{request.path}"{more}'
    return ExplainFailure(403, text)


async def _in_time(question: Awaitable[T], seconds: float) -> T:
    """Return the answer to a question; raise ExplainFailure if it is refused or takes too long."""
    try:
        async with asyncio.timeout(seconds):
            return await question
    except TooManyQuestions as error:
        raise ExplainFailure(429, str(error), retry_after=error.seconds) from None
    except TimeoutError:
        late = f"the scheduling loop did not answer within {seconds:.0f} s"
        raise ExplainFailure(504, late) from None
    except AnswerLimitError as error:
        raise ExplainFailure(504, str(error)) from None


def _first(request: ExplainRequest, name: str) -> str:
    values = request.query.get(name)
    return values[0] if values else ""


def _whole(request: ExplainRequest, name: str, least: int) -> int | None:
    """Return a parameter that is a whole number; None if the request has none."""
    text = _first(request, name)
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= least):
        raise ExplainFailure(400, f"{name} must be an integer of at least {least}, got {text!r}")
    return int(text)
