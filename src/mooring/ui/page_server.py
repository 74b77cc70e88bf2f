"""PageServer: the page and its data over HTTP on loopback, for one user."""

from __future__ import annotations

import asyncio
import gzip
import logging
import math
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http.cookies import CookieError, SimpleCookie
from typing import Any

import msgspec
from aiohttp import web

from mooring.errors import ConfigError, MooringError, ObjectError
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.serve.http_server import BodyError, HttpServer, read_body
from mooring.ui import page_access
from mooring.ui.leader_link import LeaderBusyError
from mooring.ui.page_access import LOOPBACK, PARAMETER, PageAccess
from mooring.ui.page_data import PageData
from mooring.ui.page_files import PageFile
from mooring.ui.page_past import PagePast
from mooring.ui.page_questions import PageQuestions, WhatIfQuestion

log = logging.getLogger(__name__)

#: Seconds between two messages to a reader of the changes, at least.
PERIOD = 0.25
#: Seconds after which a reader that nothing is sent to gets an empty line.
HEARTBEAT = 15.0
#: Readers of the changes at a time: each is one open page.
MOST_READERS = 16
#: Bytes of the body of a request.
MOST_BODY = 2**16

_SHUTDOWN_SECONDS = 1.0
_BACKLOG = 64
#: Shorter answers are sent as they are.
_WORTH_PACKING = 2**11
_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_NUMBER = re.compile(r"\d{1,9}")

Answer = Callable[[PageData, web.BaseRequest], Awaitable[Any]]


class PageError(MooringError):
    """A request that cannot be answered; `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def listen(port: int) -> socket.socket:
    """Listen on loopback; port 0 picks a free one. Raise ConfigError if the port is taken."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=_BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise ConfigError(
            f"cannot listen on {LOOPBACK}:{port}: {reason}; --port names another port"
        ) from None


class PageServer:
    """A server of the page. Owned by the event loop of the scheduler whose state it shows."""

    def __init__(
        self,
        data: PageData,
        files: Mapping[str, PageFile],
        access: PageAccess,
        *,
        questions: PageQuestions | None = None,
        past: PagePast | None = None,
    ) -> None:
        """Serve data, and what can be asked about them: changes of now, or moments of the past.

        With a past, `data` are those of its end, and each request names its moment.
        """
        self._data = data
        self._past = past
        self._files = files
        self._access = access
        self._server: HttpServer | None = None
        self._readers = 0
        #: An examination or computation at a time.
        self._working = asyncio.Lock()
        self._routes: dict[tuple[str, str], Answer] = {
            ("GET", "/api/about"): self._about,
            ("GET", "/api/nodes"): self._nodes,
            ("GET", "/api/node"): self._node,
            ("GET", "/api/pending"): self._pending,
            ("GET", "/api/decisions"): self._decisions,
            ("GET", "/api/search"): self._search,
            ("GET", "/api/explain"): self._explain,
            ("GET", "/api/place"): self._place,
        }
        if questions is not None:
            self._routes["POST", "/api/what-if"] = partial(self._what_if, questions)

    def start(self, listener: socket.socket) -> None:
        """Accept connections."""
        self._server = HttpServer(
            self._handle, shutdown_seconds=_SHUTDOWN_SECONDS, handler_cancellation=True
        )
        self._server.start([listener], None)

    async def stop(self) -> None:
        """Stop listening, and end the requests in progress."""
        if self._server is not None:
            await self._server.stop()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self._access.refusal(request.headers)
        if refusal:
            return _plain(403, refusal)
        path = request.rel_url.path
        token = request.rel_url.query.get(PARAMETER)
        if path == "/" and token is not None:
            return self._enter(token)
        if not self._access.is_cookie(_cookie(request, self._access.cookie_name)):
            return _plain(403, page_access.NO_COOKIE)
        if request.method == "GET" and path in self._files:
            return _file(self._files[path])
        return await self._answer(request, path)

    def _enter(self, token: str) -> web.Response:
        """Exchange the token for the cookie, and leave it out of the address."""
        if not self._access.is_token(token):
            return _plain(403, page_access.WRONG_TOKEN)
        response = _response(303, b"", _TEXT)
        response.headers["Location"] = "/"
        response.headers["Set-Cookie"] = self._access.cookie
        return response

    async def _answer(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        answer = self._routes.get((request.method, path))
        is_stream = request.method == "GET" and path == "/api/changes"
        if answer is None and not is_stream:
            return _plain(404, f"There is no {request.method} {path}.")
        try:
            if answer is None:
                return await self._changes(await self._data_of(request), request)
            return await _json(200, await answer(await self._data_of(request), request))
        except PageError as error:
            return await _json(error.status, {"error": str(error)})
        except LeaderBusyError as error:
            return await _busy(error)
        except MooringError as error:
            return await _json(404, {"error": str(error)})
        except BaseException as error:
            raise_if_external(error)
            # A plugin may fail in its own ways: the page says how.
            log.warning("%s: %s", path, error_text(error))
            return await _json(500, {"error": error_text(error)})

    async def _data_of(self, request: web.BaseRequest) -> PageData:
        """Return the data that a request is about: with a past, those of its `moment`."""
        past = self._past
        if past is None:
            return self._data
        time = _moment(request, past)
        # An examination goes on meanwhile, but a moment is only read after it.
        found = past.kept(time)
        if found is None:
            async with self._working:
                found = await past.read(time)
        return found

    # The answers.

    async def _about(self, data: PageData, _: web.BaseRequest) -> Any:
        return data.about()

    async def _nodes(self, data: PageData, _: web.BaseRequest) -> Any:
        return data.whole_nodes()

    async def _node(self, data: PageData, request: web.BaseRequest) -> Any:
        return data.node(_query(request, "name"))

    async def _pending(self, data: PageData, request: web.BaseRequest) -> Any:
        return await data.pending(_query(request, "q"), _number(request, "offset") or 0)

    async def _decisions(self, data: PageData, _: web.BaseRequest) -> Any:
        return data.newest_decisions()

    async def _search(self, data: PageData, request: web.BaseRequest) -> Any:
        return data.search(_query(request, "q"))

    async def _explain(self, data: PageData, request: web.BaseRequest) -> Any:
        """Return the leader's explanation of a pod, or else one by the page's own rules.

        With `attempt=now`, do not ask the leader.
        """
        namespace, name = _query(request, "namespace"), _query(request, "name")
        reason = ""
        if _query(request, "attempt") != "now":
            attempt = _number(request, "attempt")
            found = await data.explain_attempt(namespace, name, attempt)
            if isinstance(found, dict):
                return found
            reason = found
        async with self._working:
            if self._past is not None:
                # Its plugins may have been closed while the lock was held by others.
                data = await self._past.read(_moment(request, self._past))
            return {"noLeader": reason, **await data.explain(namespace, name)}

    async def _place(self, data: PageData, request: web.BaseRequest) -> Any:
        return await data.place(_query(request, "namespace"), _query(request, "name"))

    async def _what_if(
        self, questions: PageQuestions, _: PageData, request: web.BaseRequest
    ) -> Any:
        question = await _body(request, WhatIfQuestion)
        try:
            async with self._working:
                return await questions.ask(question)
        except MooringError as error:
            raise PageError(400, str(error)) from None

    # Changes, as server-sent events.

    async def _changes(self, data: PageData, request: web.BaseRequest) -> web.StreamResponse:
        if self._readers >= MOST_READERS:
            return _plain(503, f"{MOST_READERS} pages are open already: close one.")
        response = web.StreamResponse()
        response.headers.update(page_access.HEADERS)
        response.headers["Content-Type"] = "text/event-stream"
        # A browser that reconnects by itself names the last event that it got.
        mark = request.headers.get("Last-Event-ID") or _query(request, "mark")
        self._readers += 1
        try:
            await response.prepare(request)
            await _send_changes(data, response, mark)
        except ConnectionError:
            log.debug("A reader of the changes has gone")
        finally:
            self._readers -= 1
        return response


async def _send_changes(data: PageData, response: web.StreamResponse, mark: str) -> None:
    """Send what changes until the reader is gone; one that does not read is disconnected.

    Nothing is kept for a reader but its cursor: it gets what is new when it reads again.
    """
    cursor, idle = data.cursor(mark), 0.0
    while True:
        message = data.changes(cursor)
        if message is not None:
            text = msgspec.json.encode(message)
            await response.write(b"id: %s\ndata: %s\n\n" % (data.mark(cursor).encode(), text))
            idle = 0.0
        elif idle >= HEARTBEAT:
            await response.write(b":\n\n")
            idle = 0.0
        await asyncio.sleep(PERIOD)
        idle += PERIOD


def _cookie(request: web.BaseRequest, name: str) -> str:
    found: SimpleCookie = SimpleCookie()
    try:
        found.load(request.headers.get("Cookie", ""))
    except CookieError:
        return ""
    return found[name].value if name in found else ""


def _query(request: web.BaseRequest, name: str) -> str:
    return request.rel_url.query.get(name, "")


def _number(request: web.BaseRequest, name: str) -> int | None:
    """Return a parameter as a non-negative integer; None if the request does not have it."""
    text = _query(request, name)
    if not text:
        return None
    if not _NUMBER.fullmatch(text):
        raise PageError(400, f'{name} must be a non-negative integer, got "{text}"')
    return int(text)


def _moment(request: web.BaseRequest, past: PagePast) -> float:
    """Return the moment of the past that a request names, by default its end."""
    text = _query(request, "moment")
    if not text:
        return past.end
    try:
        past.check(time := float(text))
    except ValueError:
        raise PageError(400, f'moment must be a number of seconds, got "{text}"') from None
    except ObjectError as error:
        raise PageError(400, str(error)) from None
    return time


async def _body(request: web.BaseRequest, kind: type[msgspec.Struct]) -> Any:
    """Return the body of a request as a Struct; raise PageError if it is not one."""
    try:
        return msgspec.json.decode(await read_body(request, MOST_BODY), type=kind)
    except BodyError as error:
        raise PageError(error.status, str(error)) from None
    except msgspec.MsgspecError as error:
        raise PageError(400, str(error)) from None


def _file(file: PageFile) -> web.Response:
    response = _response(200, file.packed, file.content_type)
    response.headers["Content-Encoding"] = "gzip"
    return response


async def _json(status: int, data: Any) -> web.Response:
    body = msgspec.json.encode(data)
    if len(body) < _WORTH_PACKING:
        return _response(status, body, _JSON)
    packed = await asyncio.to_thread(gzip.compress, body, 5)
    response = _response(status, packed, _JSON)
    response.headers["Content-Encoding"] = "gzip"
    return response


async def _busy(error: LeaderBusyError) -> web.Response:
    seconds = max(1, math.ceil(error.seconds))
    response = await _json(429, {"error": str(error), "retryAfter": seconds})
    response.headers["Retry-After"] = str(seconds)
    return response


def _plain(status: int, text: str) -> web.Response:
    return _response(status, f"{text}\n".encode(), _TEXT)


def _response(status: int, body: bytes, content_type: str) -> web.Response:
    response = web.Response(status=status, body=body)
    response.headers.update(page_access.HEADERS)
    response.headers["Content-Type"] = content_type
    return response
