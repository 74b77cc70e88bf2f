"""Webhook: posting a question to an extender, and Go's words for what can go wrong."""

# kube-scheduler: extender.go (makeTransport, send); Go: net/http

from __future__ import annotations

import asyncio
import errno
import logging
import re
import ssl
from collections.abc import Callable
from typing import Any

import aiohttp

from mooring.client.checked_request import CheckedRequest, before_send
from mooring.client.environment_proxy import environment_proxy
from mooring.client.tls_settings import KeyPair, Pem, TlsContexts, TlsSettings
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import Extender as ExtenderConfig
from mooring.config.types import ExtenderTLSConfig
from mooring.errors import ConfigError, ExtenderError
from mooring.observe.clock import Clock

log = logging.getLogger(__name__)

AWAITING_HEADERS = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
READING_BODY = (
    "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
)
CA_AND_INSECURE = "specifying a root certificates file with the insecure flag is not allowed"

_HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "mooring",
}
_WORDS = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "no route to host",
    errno.ENETUNREACH: "network is unreachable",
    errno.ETIMEDOUT: "connection timed out",
}
#: The alerts of a server that refuses, in Go's words. # crypto/tls/alert.go
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
_SSL_REASON = re.compile(r"\[SSL: (\w+)\]")
_ADDRESS = re.compile(r"\('([^']+)', (\d+)")


class Webhook:
    """The way to one extender. Belongs to one event loop; its maker closes it.

    `before_write` is called right before a request is sent that changes something.
    """

    def __init__(
        self,
        config: ExtenderConfig,
        clock: Clock,
        before_write: Callable[[], None] | None = None,
    ) -> None:
        self._before_write = before_write
        self._url = config.url_prefix.rstrip("/")
        # A negative timeout is none, as in Go.
        timeout = config.http_timeout or EXTENDER_TIMEOUT
        self._timeout = aiohttp.ClientTimeout(timeout.seconds if timeout > 0 else None)
        settings = _tls_settings(config)
        self._server_name = settings.server_name
        self._tls = TlsContexts(settings, clock)
        if self._url.startswith("https:"):
            # Made now, so that a mistake shows at the start.
            self._tls.context()
        self._session: aiohttp.ClientSession | None = None

    async def post(self, verb: str, body: bytes, *, repeatable: bool = True) -> bytes:
        """Post a question and return the body of its answer.

        A connection that the extender closed while it idled shows only when it is used: what is
        `repeatable` is then asked once more. What is not changes something.
        """
        url = f"{self._url}/{verb}"
        before_send.set(None if repeatable else self._before_write)
        try:
            return await self._post(verb, url, body)
        except (aiohttp.ServerDisconnectedError, ConnectionResetError) as error:
            if not repeatable:
                raise ExtenderError(f'Post "{url}": {_explain(error)}') from None
        except (TimeoutError, aiohttp.ClientError, OSError, ConfigError) as error:
            raise ExtenderError(f'Post "{url}": {_explain(error)}') from None
        try:
            return await self._post(verb, url, body)
        except (TimeoutError, aiohttp.ClientError, OSError, ConfigError) as error:
            raise ExtenderError(f'Post "{url}": {_explain(error)}') from None

    async def _post(self, verb: str, url: str, body: bytes) -> bytes:
        found = _SCHEME.match(url)
        scheme = found[1].lower() if found else ""
        if not scheme and ":" in url.partition("/")[0]:
            raise ExtenderError(f'parse "{url}": first path segment in URL cannot contain colon')
        if scheme not in ("http", "https"):
            raise ExtenderError(f'Post "{url}": unsupported protocol scheme "{scheme}"')
        async with self._open().post(url, data=body, headers=_HEADERS, **self._options()) as answer:
            if answer.status != 200:
                raise ExtenderError(
                    f"failed {verb} with extender at URL {url}, code {answer.status}"
                )
            try:
                return await answer.read()
            except TimeoutError:
                raise ExtenderError(READING_BODY) from None
            except aiohttp.ClientPayloadError:
                raise ExtenderError("unexpected EOF") from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                timeout=self._timeout,
                cookie_jar=aiohttp.DummyCookieJar(),
                # Go sends none, and some extenders choose by it.
                skip_auto_headers=("Accept",),
                request_class=CheckedRequest,
            )
        return self._session

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if proxy := environment_proxy(self._url):
            options["proxy"] = proxy
        if self._url.startswith("https:"):
            options["ssl"] = self._tls.context()
            if self._server_name:
                options["server_hostname"] = self._server_name
        return options

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _tls_settings(config: ExtenderConfig) -> TlsSettings:
    tls = config.tls_config or ExtenderTLSConfig()
    authority = Pem(tls.ca_file, tls.ca_data)
    # HTTPS without an authority to trust is taken as it comes.
    insecure = tls.insecure or (config.enable_https and not authority)
    if insecure and authority:
        raise ConfigError(CA_AND_INSECURE)
    certificate = Pem(tls.cert_file, tls.cert_data)
    key = Pem(tls.key_file, tls.key_data)
    if bool(certificate) != bool(key):
        log.warning(
            "The extender %s has only one of certificate and key: none is shown", config.url_prefix
        )
    return TlsSettings(
        authority=authority,
        key_pair=KeyPair(certificate, key) if certificate and key else None,
        server_name=tls.server_name,
        insecure=insecure,
    )


def _explain(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = error.certificate_error
        words = getattr(reason, "verify_message", "") or str(reason)
        return f"tls: failed to verify certificate: x509: {words}"
    if isinstance(error, aiohttp.ClientConnectorSSLError | ssl.SSLError):
        cause = getattr(error, "os_error", error)
        return _explain_tls(getattr(cause, "reason", None) or str(cause))
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        words = _WORDS.get(cause.errno or 0) or (cause.strerror or str(cause)).lower()
        found = _ADDRESS.search(str(cause))
        address = f"{found[1]}:{found[2]}" if found else f"{error.host}:{error.port}"
        return f"dial tcp {address}: connect: {words}"
    if isinstance(error, asyncio.TimeoutError):
        return AWAITING_HEADERS
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    if isinstance(error, OSError) and error.errno == errno.ECONNRESET:
        return "read: connection reset by peer"
    if isinstance(error, ConnectionResetError):
        return "connection reset by peer"
    if told := _SSL_REASON.search(str(error)):
        return _explain_tls(told[1])
    return str(error) or type(error).__name__


def _explain_tls(reason: str) -> str:
    if reason in _ALERTS:
        return f"remote error: tls: {_ALERTS[reason]}"
    return f"tls: {reason.lower().replace('_', ' ')}"
