"""WebClient: GET from servers other than the API server, for plugins that read measurements."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from mooring.client.connection import Connection, is_secure, server_url
from mooring.client.credentials import Static
from mooring.client.http_transport import HttpTransport
from mooring.client.tls_settings import Pem, TlsSettings
from mooring.client.transport import Request
from mooring.framework.handle import HttpAnswer
from mooring.observe.clock import Clock

#: Characters of a URL that are kept as they are.
_SAFE = "/%:@!$&'()*+,;=~?"
#: What a transport depends on: the server, the token, the authority, whether it is verified.
_Where = tuple[str, str, str, bool]


class WebClient:
    """A client of any number of servers (`framework.handle.HttpClient`). Owned by one event loop.

    Connections stay open for the next request to the same server.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._transports: dict[_Where, HttpTransport] = {}

    async def get(
        self,
        url: str,
        *,
        token: str = "",
        ca_file: str = "",
        insecure: bool = False,
        timeout: float = 10.0,
        max_bytes: int = 2**24,
    ) -> HttpAnswer:
        """Return the answer to GET, whatever its status."""
        tls = TlsSettings(authority=Pem(file=ca_file), insecure=insecure)
        parts = urlsplit(server_url(url, tls))
        where = (f"{parts.scheme}://{parts.netloc}", token, ca_file, insecure)
        transport = self._transports.get(where)
        if transport is None:
            header = f"Bearer {token}" if token and is_secure(where[0]) else ""
            transport = self._transports[where] = HttpTransport(
                Connection(server=where[0], tls=tls, credentials=lambda _: Static(header)),
                clock=self._clock,
            )
        query = urlsplit(url).query
        target = quote(parts.path or "/", safe=_SAFE) + (
            f"?{quote(query, safe=_SAFE)}" if query else ""
        )
        request = Request("GET", target, timeout=timeout, max_bytes=max_bytes)
        answer = await transport.send(request)
        return HttpAnswer(answer.status, answer.body)

    async def close(self) -> None:
        """Close all connections; requests in progress fail."""
        for transport in self._transports.values():
            await transport.close()
        self._transports.clear()
