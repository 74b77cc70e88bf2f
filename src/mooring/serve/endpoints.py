"""Endpoints: the response of each path."""

# kube-scheduler: cmd/kube-scheduler/app/server.go (newEndpointsHandler), apiserver
# pkg/server/routes/flags.go

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec
from aiohttp import web

from mooring.api import Pod
from mooring.api.go_format import go_json
from mooring.api.go_numbers import parse_integer
from mooring.config.printing import to_yaml
from mooring.observe.clock import Clock
from mooring.observe.exposition import CONTENT_TYPE
from mooring.serve.explain_paths import ROOT, ExplainPaths, ExplainRequest
from mooring.serve.explanations import ExplanationReader
from mooring.serve.health import Answer, Health, HealthMetrics, HealthPage
from mooring.serve.http_server import BodyError, read_body, send_chunks
from mooring.serve.process import process_start_time
from mooring.serve.resource_metrics import expose_resources
from mooring.serve.zpages import (
    DEPRECATED,
    NOT_ACCEPTABLE,
    YAML,
    accepts_json,
    flagz_data,
    flagz_text,
    negotiate,
    statusz_data,
    statusz_text,
)

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

CONFIGZ_KEY = "componentconfig"
VERBOSITIES = range(2**31)
_VERBOSITY_LIMIT = 2**20
NO_METHOD = "unsupported http method"

_NOSNIFF = {"X-Content-Type-Options": "nosniff"}
_FLAGS_PAGE = """<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
"""


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of responses. Each function is called on the serving thread."""

    health: Health
    metrics: Callable[[], bytes]
    pods: Callable[[], Iterable[Pod]]
    is_leader: Callable[[], bool]
    #: The effective configuration as plain data.
    config: Mapping[str, Any]
    flags: Mapping[str, str]
    version: str
    #: The release that is emulated, such as 1.37.
    emulation: str
    set_verbosity: Callable[[int], None]
    #: Whether /debug is served.
    profiling: bool = True
    flagz: bool = True
    statusz: bool = True
    #: Additional pages by path.
    pages: Mapping[str, Handler] = {}
    #: The paths of explanations; None if there are none.
    explain: ExplainPaths | None = None


class Endpoints:
    """The dispatcher of requests by path; handlers check the method if it matters."""

    def __init__(self, sources: Sources, clock: Clock) -> None:
        self._sources = sources
        self._clock = clock
        self._started = process_start_time()
        self._slis = HealthMetrics(self._started)
        self._listed: dict[str, Handler] = {
            "/metrics": self._metrics,
            "/metrics/resources": self._resources,
            "/metrics/slis": self._sli_metrics,
            "/configz": self._configz,
            **sources.pages,
        }
        for page in sources.health.pages(self._slis):
            self._add_health(page)
        if sources.flagz:
            self._listed["/flagz"] = self._flagz
        if sources.statusz:
            self._listed["/statusz"] = self._statusz
        self._unlisted: dict[str, Handler] = {}
        if sources.profiling:
            self._unlisted = {
                "/debug/flags": self._flags_page,
                "/debug/flags/": self._flags_page,
                "/debug/flags/v": self._set_verbosity,
            }

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Respond to a request; authorization is the caller's task."""
        path = request.path
        handler = self._listed.get(path) or self._unlisted.get(path)
        if handler is None:
            return text("404 page not found\n", 404)
        return await handler(request)

    def explains(self, path: str) -> bool:
        """Return whether a path is one of `explain`, which authorizes requests itself."""
        is_below = path == ROOT or path.startswith(f"{ROOT}/")
        return is_below and self._sources.explain is not None

    async def explain(
        self, request: web.BaseRequest, reader: ExplanationReader
    ) -> web.StreamResponse:
        """Respond to a request for an explanation; they are served on the secure port alone."""
        assert self._sources.explain is not None
        asked = ExplainRequest(
            request.method,
            request.path,
            {name: request.query.getall(name) for name in request.query},
            request.headers.get("Last-Event-ID", ""),
        )
        found = await self._sources.explain.answer(asked, reader)
        headers = {"Content-Type": "application/json", **_NOSNIFF, **found.headers}
        if found.stream is None:
            response = web.Response(body=found.body, status=found.code, headers=headers)
            response.enable_compression()
            return response
        stream = web.StreamResponse(headers={**headers, "Cache-Control": "no-cache, private"})
        try:
            await send_chunks(request, stream, found.stream)
        finally:
            await found.stream.aclose()
        return stream

    def stop(self) -> None:
        """End the responses that would not end by themselves."""
        if self._sources.explain is not None:
            self._sources.explain.stop()

    def _add_health(self, page: HealthPage) -> None:
        async def all_checks(request: web.BaseRequest) -> web.StreamResponse:
            query = request.query
            verbose, exclude = "verbose" in query, query.getall("exclude", [])
            return _health(page.all(verbose=verbose, exclude=exclude))

        async def one_check(request: web.BaseRequest) -> web.StreamResponse:
            answer = page.one(request.path.rpartition("/")[2])
            assert answer is not None
            # Go sets the nosniff header only on errors here.
            return web.Response(text=answer.text) if answer.status == 200 else _health(answer)

        self._listed[f"/{page.name}"] = all_checks
        for check in page.checks:
            self._listed[f"/{page.name}/{check.name}"] = one_check

    async def _metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        # On another thread, because the lease is renewed on this one.
        return self._exposition(await asyncio.to_thread(self._sources.metrics))

    async def _sli_metrics(self, request: web.BaseRequest) -> web.StreamResponse:
        return self._exposition(self._slis.expose())

    async def _resources(self, request: web.BaseRequest) -> web.StreamResponse:
        if not self._sources.is_leader():
            return web.Response()
        pods = list(self._sources.pods())
        return self._exposition(await asyncio.to_thread(expose_resources, pods))

    def _exposition(self, body: bytes) -> web.StreamResponse:
        headers = {
            "Content-Type": CONTENT_TYPE,
            "Process-Start-Time-Unix": str(int(self._started)),
        }
        response = web.Response(body=body, headers=headers)
        response.enable_compression()
        return response

    async def _configz(self, request: web.BaseRequest) -> web.StreamResponse:
        body = go_json({CONFIGZ_KEY: self._sources.config})
        headers = {"Content-Type": "application/json", **_NOSNIFF}
        return web.Response(body=body.encode(), headers=headers)

    async def _flagz(self, request: web.BaseRequest) -> web.StreamResponse:
        flags = self._sources.flags
        return _zpage(
            request,
            "Flagz",
            text_form=lambda: flagz_text(flags),
            data=lambda version: flagz_data(flags, version),
        )

    async def _statusz(self, request: web.BaseRequest) -> web.StreamResponse:
        # apiserver lists the paths registered before /statusz itself.
        paths = [path for path in self._listed if path != "/statusz"]
        sources = self._sources
        about = (self._started, self._clock.now(), sources.version, sources.emulation, paths)
        return _zpage(
            request,
            "Statusz",
            text_form=lambda: statusz_text(*about),
            data=lambda version: statusz_data(*about, version),
        )

    async def _flags_page(self, request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text=_FLAGS_PAGE, content_type="text/html", charset="utf-8")

    async def _set_verbosity(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method != "PUT":
            return text(f"{NO_METHOD}\n", 406)
        try:
            body = await read_body(request, _VERBOSITY_LIMIT)
        except BodyError as error:
            return text(f"{error}\n", error.status)
        value = body.decode("utf-8", "backslashreplace").strip()
        try:
            self._sources.set_verbosity(parse_integer(value, VERBOSITIES, "ParseUint"))
        except ValueError as error:
            return text(f"{error}\n", 400)
        return text(f"successfully set klog.logging.verbosity to {value}\n")


def text(body: str, status: int = 200) -> web.Response:
    """Return a response with plain text."""
    return web.Response(text=body, status=status, headers=_NOSNIFF)


def _health(answer: Answer) -> web.Response:
    return text(answer.text, answer.status)


def _zpage(
    request: web.BaseRequest,
    kind: str,
    *,
    text_form: Callable[[], str],
    data: Callable[[str], object],
) -> web.Response:
    accept = request.headers.get("Accept", "")
    form = negotiate(accept, kind)
    if form is None:
        return status_answer(
            406, "NotAcceptable", NOT_ACCEPTABLE, pretty=not accepts_json(accept), sniff=True
        )
    if not form.version:
        return web.Response(text=text_form())
    headers = {"Content-Type": f"{form.media};g=config.k8s.io;v={form.version};as={kind}"}
    if form.version == "v1alpha1":
        headers["Warning"] = f'299 - "{DEPRECATED.format(page=kind.lower())}"'
    found = data(form.version)
    body = to_yaml(found) if form.media == YAML else go_json(found) + "\n"
    return web.Response(body=body.encode(), headers=headers)


def status_answer(
    code: int, reason: str, message: str, *, pretty: bool, sniff: bool = False
) -> web.Response:
    """Return a failure response as the API server writes it."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
    }
    if code == 403:
        status["details"] = {}
    status["code"] = code
    body = json.dumps(status, indent=2) if pretty else go_json(status) + "\n"
    headers = {"Content-Type": "application/json", **({} if sniff else _NOSNIFF)}
    return web.Response(body=body.encode(), status=code, headers=headers)
