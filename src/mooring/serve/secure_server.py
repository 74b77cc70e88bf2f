"""SecureServer: HTTPS with authorization, and optionally plain HTTP for everyone."""

# kube-scheduler: cmd/kube-scheduler/app/server.go (buildHandlerChain); apiserver
# pkg/server/secure_serving.go, pkg/endpoints/filters

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from aiohttp import web
from cryptography import x509
from multidict import CIMultiDict, CIMultiDictProxy

from mooring.api.durations import Duration
from mooring.errors import ApiError, ConfigError
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, verbose, vlog
from mooring.serve.acceptor import BACKLOG
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.endpoints import Endpoints, status_answer, text
from mooring.serve.explanations import ExplanationReader
from mooring.serve.http_server import HttpServer, authenticated, readable
from mooring.serve.reload_problems import ReloadProblems
from mooring.serve.review_client import Access
from mooring.serve.serving_options import InsecureServing, SecureServing
from mooring.serve.serving_tls import ServingTls
from mooring.serve.users import ANONYMOUS, ReviewedUser

log = logging.getLogger(__name__)

#: How long requests in progress may take when the server stops, in seconds.
SHUTDOWN_SECONDS = 5.0
#: How often certificate files are read again, in seconds.
FILES_SECONDS = 1.0
#: The ConfigMap with client authorities is read again after this many rounds.
LOOK_UP_TURNS = 60

# Responses to interactive clients are pretty-printed. # apiserver: endpoints/handlers/negotiation
_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_ANSWERED = web.StreamResponse


class PathAuthorizer(Protocol):
    """Decides which users may use which paths."""

    async def access(self, user: ReviewedUser, verb: str, path: str) -> Access:
        """Return whether the user is allowed; raise ApiError if that cannot be decided."""
        ...


class Gate:
    """The authentication and authorization in front of the endpoints.

    Explanations are served if `reader_of` returns the rights of a user.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        authenticator: DelegatingAuthenticator,
        authorizer: PathAuthorizer,
        reader_of: Callable[[ReviewedUser], ExplanationReader] | None = None,
    ) -> None:
        self._endpoints = endpoints
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._reader_of = reader_of

    async def answer(self, request: web.BaseRequest) -> _ANSWERED:
        """Respond to a request: with 401 or 403, or by the endpoint."""
        user = await self._authenticator.user(_headers(request), _certificate(request))
        if user is None:
            return _status(request, 401, "Unauthorized", "Unauthorized")
        if user is not ANONYMOUS:
            authenticated(request)
        try:
            if self._reader_of is not None and self._endpoints.explains(request.path):
                return await self._endpoints.explain(request, self._reader_of(user))
            return await self._authorized(request, user)
        except ApiError as error:
            log_error(log, error, "Failed to make webhook authorizer request")
            body = f'Internal Server Error: "{request.path_qs}": {error}\n'
            return text(_harmless(body), 500)

    async def _authorized(self, request: web.BaseRequest, user: ReviewedUser) -> _ANSWERED:
        verb, path = request.method.lower(), request.path
        access = await self._authorizer.access(user, verb, path)
        if not access.is_granted:
            vlog(log, 4, "Forbidden", URI=request.path_qs, reason=access.reason)
            message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
            message = _harmless(message)
            if access.reason:
                message += f": {access.reason}"
            return _status(request, 403, "Forbidden", message)
        return await self._endpoints.answer(request)


class SecureServer:
    """The server of both ports. Belongs to the loop of its own thread (`SideLoop`)."""

    def __init__(self, endpoints: Endpoints, clock: Clock) -> None:
        self._endpoints = endpoints
        self._clock = clock
        self._servers: list[HttpServer] = []
        self._refreshing: asyncio.Task[None] | None = None
        self._problems = ReloadProblems("Cannot look for renewed certificates")

    async def serve_securely(
        self,
        listener: socket.socket,
        tls: ServingTls,
        gate: Gate,
        authorities: ClientAuthorities,
    ) -> None:
        """Serve HTTPS, and regularly look for renewed certificates."""
        self._serve(listener, gate, tls)
        log.info(f"Serving securely on {address_of(listener)}")
        self._refreshing = asyncio.create_task(self._refresh(tls, authorities))

    async def serve_insecurely(self, listener: socket.socket, gate: Gate | None = None) -> None:
        """Serve plain HTTP: without a gate, every path to everyone."""
        self._serve(listener, gate or self._endpoints, None)
        log.info(f"Serving insecurely on {address_of(listener)}")

    async def stop(self) -> None:
        """Stop listening, and give requests in progress a few seconds."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._endpoints.stop()
        for server in self._servers:
            await server.stop()
        if self._servers:
            log.info("[graceful-termination] secure server has stopped listening")
            log.info("[graceful-termination] secure server is exiting")
        self._servers.clear()

    def _serve(
        self, listener: socket.socket, source: Gate | Endpoints, tls: ServingTls | None
    ) -> None:
        async def handle(request: web.BaseRequest) -> _ANSWERED:
            return await _handle(request, source)

        server = HttpServer(handle, shutdown_seconds=SHUTDOWN_SECONDS)
        server.start([listener], None if tls is None else lambda: tls.context)
        self._servers.append(server)

    async def _refresh(self, tls: ServingTls, authorities: ClientAuthorities) -> None:
        def reload() -> bool:
            authorities.reload_files()
            return tls.renew(authorities.pem)

        for turn in itertools.count(1):
            await self._clock.sleep(FILES_SECONDS)
            try:
                if turn % LOOK_UP_TURNS == 0:
                    await authorities.look_up()
                # On another thread: a file system may hang, and the lease is renewed on this one.
                if await asyncio.to_thread(reload):
                    log.info("Loaded a new serving cert or client CA")
                self._problems.solved("")
            except Exception as error:
                self._problems.report("", error)


def listen(serving: SecureServing) -> socket.socket | None:
    """Open the listening socket for HTTPS; None if it is disabled."""
    if serving.port == 0:
        return None
    return _listen(serving.bind_address, serving.port, share=serving.permit_port_sharing)


def listen_insecurely(serving: InsecureServing) -> socket.socket | None:
    """Open the listening socket for plain HTTP; None if it is disabled."""
    return _listen(serving.address, serving.port) if serving.port else None


def address_of(listener: socket.socket) -> str:
    """Return the address on which a socket listens."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen(address: str, port: int, *, share: bool = False) -> socket.socket:
    # Go listens on all addresses of both families if the address is unspecified.
    any_address = address in ("0.0.0.0", "::")
    both = any_address and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both or ":" in address else socket.AF_INET
    host = "" if any_address else address
    try:
        return socket.create_server(
            (host, port), family=family, dualstack_ipv6=both, reuse_port=share, backlog=BACKLOG
        )
    except OSError as error:
        where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise ConfigError(
            f"failed to create listener: failed to listen on {where}: listen tcp {where}: "
            f"bind: {reason}"
        ) from None


async def _handle(request: web.BaseRequest, source: Gate | Endpoints) -> _ANSWERED:
    started = time.perf_counter()
    try:
        response = await source.answer(request)
    except ConnectionError:
        raise
    except Exception as error:
        log.exception("Cannot answer %s %s", request.method, request.path_qs, exc_info=error)
        response = text(f'Internal Server Error: "{_harmless(request.path_qs)}"\n', 500)
    response.headers["Cache-Control"] = "no-cache, private"
    if verbose(log, 3):
        _log_request(request, response, time.perf_counter() - started)
    return response


def _log_request(request: web.BaseRequest, response: _ANSWERED, seconds: float) -> None:
    pairs: dict[str, Any] = {
        "verb": request.method,
        "URI": request.path_qs,
        "latency": str(Duration.from_seconds(seconds)),
        "userAgent": readable(request.headers.get("User-Agent", "")),
        "audit-ID": "",
        "srcIP": _peer(request),
        "resp": response.status,
    }
    vlog(log, 3, "HTTP", **pairs)


def _headers(request: web.BaseRequest) -> CIMultiDictProxy[str]:
    headers = request.headers
    if all(value.isascii() for value in headers.values()):
        return headers
    pairs = [(name, readable(value)) for name, value in headers.items()]
    return CIMultiDictProxy(CIMultiDict(pairs))


def _peer(request: web.BaseRequest) -> str:
    peer = request.transport and request.transport.get_extra_info("peername")
    return f"{peer[0]}:{peer[1]}" if peer else ""


def _certificate(request: web.BaseRequest) -> x509.Certificate | None:
    connection = request.transport and request.transport.get_extra_info("ssl_object")
    shown = connection.getpeercert(binary_form=True) if connection else None
    return x509.load_der_x509_certificate(shown) if shown else None


def _status(request: web.BaseRequest, code: int, reason: str, message: str) -> web.Response:
    pretty = request.query.get("pretty", "") in ("1", "true")
    for_people = pretty or request.headers.get("User-Agent", "").startswith(_PEOPLE)
    return status_answer(code, reason, message, pretty=for_people, sniff=code == 401)


def _harmless(body: str) -> str:
    """Return text that no browser interprets as HTML."""
    return body.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
