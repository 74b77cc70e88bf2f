"""A proxy in front of an API server that records what passes."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.support import kubeconfigs
from tests.support.processes import LOOPBACK

#: Headers that concern one connection, or that the proxy writes itself.
_OWN = {"host", "connection", "transfer-encoding", "content-length", "content-encoding"}


class RecordingProxy:
    """A proxy that has the rights of a kubeconfig, and adds them to every request.

    Clients use plain HTTP without credentials, so the proxy sees everything, and what it forwards
    is not refused for lack of rights.
    """

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        #: Method and path of each request.
        self.requests: list[tuple[str, str]] = []
        self._session = session
        self._server = server
        #: How often `swallow` was called.
        self._swallowed = 0

    def swallow(self) -> None:
        """Pass on nothing more of the present responses, and keep their connections alive."""
        self._swallowed += 1

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on, and its response back as it comes."""
        self.requests.append((request.method, request.path_qs))
        swallowed = self._swallowed
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _OWN}
        async with self._session.request(
            request.method,
            f"{self._server}{request.path_qs}",
            headers=headers,
            data=await request.read(),
        ) as answer:
            kept = {key: value for key, value in answer.headers.items() if key.lower() not in _OWN}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            # A client that is closed does not read the rest.
            with contextlib.suppress(aiohttp.ClientConnectionResetError):
                async for chunk in answer.content.iter_any():
                    if swallowed == self._swallowed:
                        await response.write(chunk)
                await response.write_eof()
            return response


@contextlib.asynccontextmanager
async def recording_proxy(kubeconfig: Path, folder: Path) -> AsyncIterator[RecordingProxy]:
    """Run a proxy to the server of a kubeconfig; `folder / "proxied"` is a kubeconfig for it."""
    access = kubeconfigs.access(*kubeconfigs.read(kubeconfig), folder)
    context = ssl.create_default_context(
        cafile=None if access.certificate_authority is None else str(access.certificate_authority)
    )
    if access.client_certificate is not None:
        context.load_cert_chain(*map(str, access.client_certificate))
    headers = {} if access.token is None else {"Authorization": f"Bearer {access.token}"}
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(total=None)
    ) as session:
        proxy = RecordingProxy(session, access.server)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", proxy.forward)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        try:
            site = web.TCPSite(runner, LOOPBACK, 0)
            await site.start()
            port = runner.addresses[0][1]
            kubeconfigs.write(folder / "proxied", {"server": f"http://{LOOPBACK}:{port}"}, {})
            yield proxy
        finally:
            await runner.cleanup()
