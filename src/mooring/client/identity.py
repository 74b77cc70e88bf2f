"""Identity: how the client identifies itself: certificates, Authorization, fixed headers."""

from __future__ import annotations

import logging
import ssl

from mooring.client.connection import Connection, is_secure
from mooring.client.tls_settings import TlsContexts, expiry
from mooring.client.transport import JSON
from mooring.errors import ConfigError
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)


class Identity:
    """The credentials of a connection. Belongs to one event loop."""

    def __init__(self, connection: Connection, user_agent: str, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._tls = None
        if is_secure(connection.server):
            self._tls = TlsContexts(connection.tls, clock)
            # Created now, so that a mistake shows at the start.
            self._tls.context()
        self._credentials = connection.credentials(clock)
        self._headers = [("User-Agent", user_agent), *connection.headers]

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context of a new connection; None without TLS."""
        return None if self._tls is None else self._tls.context(self._credentials.key_pair)

    def known(self) -> str | None:
        """Return the Authorization header if it is known already; None if it must be awaited."""
        return self._credentials.known()

    async def authorization(self) -> str:
        """Return the Authorization header, empty if there is none."""
        return await self._credentials.authorization()

    async def close(self) -> None:
        """Stop what was started to get credentials."""
        await self._credentials.close()

    async def renew(self, refused: str) -> bool:
        """Get new credentials after the server refused the old ones; False if there are none."""
        try:
            return await self._credentials.renew(refused)
        except ConfigError as error:
            log_error(log, error, "refreshing credentials")
            return False

    def headers(
        self, authorization: str, content_type: str, compressed: bool, accept: str = JSON
    ) -> list[tuple[str, str]]:
        """Return the headers of a request; `content_type` is empty if it has no body."""
        headers = [*self._headers, ("Accept", accept)]
        if authorization:
            headers.append(("Authorization", authorization))
        if content_type:
            headers.append(("Content-Type", content_type))
        if compressed:
            headers.append(("Accept-Encoding", "gzip"))
        return headers

    def refusal_hint(self) -> str:
        """Return a text if the client certificate has expired, which the server does not report."""
        pair = self._credentials.key_pair or self._connection.tls.key_pair
        ended = expiry(pair.certificate) if pair is not None else None
        if pair is None or ended is None or ended.timestamp() > self._clock.wall_time():
            return ""
        return f"the client certificate {pair.certificate.where} expired at {ended:%FT%TZ}"
