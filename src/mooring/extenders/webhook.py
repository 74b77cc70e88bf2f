"""Webhook: posts requests to an extender, and words failures as Go does."""

# kube-scheduler: extender.go (makeTransport, send); Go: net/http

from __future__ import annotations

import asyncio
import errno
import logging
import math
import re
import socket
import ssl
from collections.abc import Callable
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from mooring.client.deadlines import ConnectError
from mooring.client.dialer import Dialer, parse_proxy
from mooring.client.environment_proxy import environment_proxy
from mooring.client.http1 import header_lines, request_bytes
from mooring.client.http_pool import BodyTimeoutError, HttpPool
from mooring.client.protocol import CLOSED, CUT, ProtocolError, TooLargeError
from mooring.client.tls_settings import KeyPair, Pem, TlsContexts, TlsSettings
from mooring.client.transport import Response, WithheldError, withholding
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import Extender as ExtenderConfig
from mooring.config.types import ExtenderTLSConfig
from mooring.errors import ConfigError, ExtenderError, safe_url
from mooring.observe.clock import Clock

log = logging.getLogger(__name__)

AWAITING_HEADERS = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING_BODY = (
    "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
)
CA_AND_INSECURE = "specifying a root certificates file with the insecure flag is not allowed"
#: The largest response of an extender, in bytes after inflating.
MAX_RESPONSE = 10 * 2**20

_HEADERS = [
    ("Accept-Encoding", "gzip"),
    ("User-Agent", "mooring"),
]
_CONNECTIONS = 100
# Go: net/http/client.go, defaultCheckRedirect
_MAX_REDIRECTS = 10
_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ETIMEDOUT: "connection timed out",
}
#: The TLS alerts of a server that refuses, in Go's words. # crypto/tls/alert.go
_ALERTS = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "certificate required",
    "SSLV3_ALERT_BAD_CERTIFICATE": "bad certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "expired certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "unknown certificate",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake failure",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol version not supported",
    "TLSV1_ALERT_UNKNOWN_CA": "unknown certificate authority",
    "TLSV1_UNRECOGNIZED_NAME": "unrecognized name",
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ADDRESS = re.compile(r"\('([^']+)', (\d+)")
#: The exceptions of a lost connection.
_LOST = (ConnectionError, ssl.SSLEOFError)


class Webhook:
    """The connections to one extender. Belongs to one event loop; close it at the end.

    `before_write` is called right before a request that changes something is sent; if it raises,
    the request is not sent and the exception reaches the caller unchanged. `max_response` is the
    largest response accepted, in bytes after inflating.
    """

    def __init__(
        self,
        config: ExtenderConfig,
        clock: Clock,
        before_write: Callable[[], None] | None = None,
        *,
        max_response: int = MAX_RESPONSE,
    ) -> None:
        self._before_write = None if before_write is None else withholding(before_write)
        self._url = config.url_prefix.rstrip("/")
        # A negative timeout means none, as in Go.
        timeout = config.http_timeout or EXTENDER_TIMEOUT
        self._timeout = timeout.seconds if timeout > 0 else math.inf
        self._max_response = max_response
        settings = _tls_settings(config)
        self._server_name = settings.server_name
        self._tls = TlsContexts(settings, clock)
        if self._url.startswith("https:"):
            # Created now, so that a mistake shows at the start.
            self._tls.context()
        #: By scheme and host with port: an extender may redirect to other hosts.
        self._routes: dict[tuple[str, str], _Route] = {}

    async def post(self, verb: str, body: bytes, *, repeatable: bool = True) -> bytes:
        """Post a request and return the body of its response.

        An idle connection that the extender has closed is noticed only when it is used: a
        `repeatable` request is then retried once. One that changes something is not repeatable.
        """
        url = f"{self._url}/{verb}"
        _check_scheme(url)
        try:
            response = await self._follow(url, body, repeatable)
        except WithheldError as error:
            raise error.cause from None
        except ProtocolError as error:
            raise ExtenderError(_explain_protocol(url, error)) from None
        except BodyTimeoutError:
            raise ExtenderError(READING_BODY) from None
        except (ConnectError, OSError, ConfigError) as error:
            host = urlsplit(url).hostname or ""
            raise ExtenderError(f"{_post(url)}: {explain_failure(error, host)}") from None
        if response.status != 200:
            shown = safe_url(url)
            raise ExtenderError(
                f"failed {verb} with extender at URL {shown}, code {response.status}"
            )
        return response.body

    async def _follow(self, url: str, body: bytes, repeatable: bool) -> Response:
        """Post a request, and follow redirects as Go does."""
        deadline = asyncio.get_running_loop().time() + self._timeout
        method, at = "POST", url
        for _ in range(_MAX_REDIRECTS):
            response = await self._ask(method, at, body, deadline, repeatable)
            location = response.headers.get("Location", "")
            if response.status not in (301, 302, 303, 307, 308) or not location:
                return response
            at = urljoin(at, location)
            _check_scheme(at)
            if response.status in (301, 302, 303):
                method, body = "GET", b""
        raise ExtenderError(f"{_post(at)}: stopped after {_MAX_REDIRECTS} redirects")

    async def _ask(
        self, method: str, url: str, body: bytes, deadline: float, repeatable: bool
    ) -> Response:
        kind = [("Content-Type", "application/json")] if body else []
        try:
            parts = urlsplit(url)
            route = self._route(parts)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            lines = header_lines([*route.headers, *_HEADERS, *kind])
            data = request_bytes(method, route.prefix + target, lines, body)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        context = self._tls.context() if parts.scheme == "https" else None
        check = None if repeatable else self._before_write
        for last in (not repeatable, True):
            try:
                return await route.pool.send(
                    data, context, deadline, again=False, check=check, max_bytes=self._max_response
                )
            except (*_LOST, ProtocolError) as error:
                lost = str(error) == CLOSED if isinstance(error, ProtocolError) else True
                if last or not lost:
                    raise
        raise AssertionError

    def _route(self, parts: SplitResult) -> _Route:
        route = self._routes.get((parts.scheme, parts.netloc))
        if route is not None:
            return route
        secured = parts.scheme == "https"
        named = environment_proxy(f"{parts.scheme}://{parts.netloc}")
        proxy = parse_proxy(named) if named else None
        dialer = Dialer(
            parts.hostname or "",
            parts.port or (443 if secured else 80),
            self._server_name,
            proxy=proxy,
            proxy_context=self._tls.context,
        )
        host = parts.netloc.rpartition("@")[2]
        route = _Route(HttpPool(dialer, _CONNECTIONS), [("Host", host)])
        if proxy is not None and not secured:
            # Without a TLS tunnel, the proxy needs the full URL.
            route.prefix = f"http://{host}"
            if proxy.authorization:
                route.headers.append(("Proxy-Authorization", proxy.authorization))
        self._routes[parts.scheme, parts.netloc] = route
        return route

    async def close(self) -> None:
        """Close all connections."""
        for route in self._routes.values():
            route.pool.close()


class _Route(msgspec.Struct):
    """The connections to one host, and what each request on them needs."""

    pool: HttpPool
    headers: list[tuple[str, str]]
    #: Written before the path, for a proxy that reads the request.
    prefix: str = ""


def _check_scheme(url: str) -> None:
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    if not scheme and ":" in url.partition("/")[0]:
        shown = safe_url(url)
        raise ExtenderError(f'parse "{shown}": first path segment in URL cannot contain colon')
    if scheme not in ("http", "https"):
        raise ExtenderError(f'{_post(url)}: unsupported protocol scheme "{scheme}"')


def _tls_settings(config: ExtenderConfig) -> TlsSettings:
    tls = config.tls_config or ExtenderTLSConfig()
    authority = Pem(tls.ca_file, tls.ca_data)
    # HTTPS without a configured authority is not verified.
    insecure = tls.insecure or (config.enable_https and not authority)
    if insecure and authority:
        raise ConfigError(CA_AND_INSECURE)
    certificate = Pem(tls.cert_file, tls.cert_data)
    key = Pem(tls.key_file, tls.key_data)
    if bool(certificate) != bool(key):
        log.warning(
            "The extender %s has only one of certificate and key: none is shown",
            safe_url(config.url_prefix),
        )
    return TlsSettings(
        authority=authority,
        key_pair=KeyPair(certificate, key) if certificate and key else None,
        server_name=tls.server_name,
        insecure=insecure,
    )


def _explain_protocol(url: str, error: ProtocolError) -> str:
    if isinstance(error, TooLargeError):
        return str(error)
    if str(error) == CUT:
        return "unexpected EOF"
    if str(error) == CLOSED:
        return f"{_post(url)}: EOF"
    return f"{_post(url)}: net/http: HTTP/1.x transport connection broken: {error}"


def _post(url: str) -> str:
    """Return a request as Go's errors name it; conditions of pods and journals show them."""
    return f'Post "{safe_url(url)}"'


def explain_failure(error: BaseException, host: str = "") -> str:
    """Return why a request failed, in Go's words."""
    if isinstance(error, ConnectError):
        return _explain_dialling(error.cause, host)
    if isinstance(error, ssl.SSLError):
        return _explain_tls(error)
    if isinstance(error, asyncio.TimeoutError):
        return AWAITING_HEADERS
    if isinstance(error, OSError) and error.errno == errno.ECONNRESET:
        return "read: connection reset by peer"
    if isinstance(error, ConnectionResetError):
        return "connection reset by peer"
    return str(error) or type(error).__name__


def _explain_dialling(cause: Exception, host: str) -> str:
    if isinstance(cause, ssl.SSLError):
        return _explain_tls(cause)
    if isinstance(cause, asyncio.TimeoutError) and not cause.errno:
        return AWAITING_HEADERS
    if isinstance(cause, socket.gaierror):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(cause, OSError) and cause.errno:
        words = _WORDS.get(cause.errno) or (cause.strerror or str(cause)).lower()
        found = _ADDRESS.search(str(cause))
        address = f" {found[1]}:{found[2]}" if found else ""
        return f"dial tcp{address}: connect: {words}"
    return str(cause) or type(cause).__name__


def _explain_tls(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: x509: {error.verify_message or error}"
    reason = error.reason or str(error)
    if reason in _ALERTS:
        return f"remote error: tls: {_ALERTS[reason]}"
    return f"tls: {reason.lower().replace('_', ' ')}"
