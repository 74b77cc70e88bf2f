"""Extenders for tests: a web server on loopback whose responses a test sets."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from mooring.config.decode import Decoder
from mooring.config.types import Extender as ExtenderConfig

Answer = Callable[[Any], Any]


class FakeWebhook:
    """A webhook with a response per verb: JSON data, bytes, a status, or a function returning one.

    An async function may wait as long as it needs.
    """

    def __init__(self, url: str, answers: dict[str, Any]) -> None:
        self.url = url
        self.answers = answers
        self.asked: list[tuple[str, Any]] = []
        self.headers: list[Any] = []

    async def handle(self, request: web.Request) -> web.Response:
        verb = request.match_info["verb"]
        question = json.loads(await request.read())
        self.asked.append((verb, question))
        self.headers.append(request.headers)
        answer = self.answers[verb]
        if callable(answer):
            answer = answer(question)
            if isinstance(answer, Awaitable):
                answer = await answer
        if isinstance(answer, int):
            return web.Response(status=answer)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return web.Response(body=body, content_type="application/json")

    def config(self, **fields: Any) -> ExtenderConfig:
        """Return the `extenders` item of this webhook."""
        return make_config(urlPrefix=self.url, **fields)


def make_config(**fields: Any) -> ExtenderConfig:
    """Return an `extenders` item as it is in the file."""
    decoder = Decoder()
    config = decoder.struct(fields, ExtenderConfig, "")
    assert config is not None, decoder.errors
    assert not decoder.errors
    return config


@asynccontextmanager
async def serving(
    answers: dict[str, Any], tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeWebhook]:
    """Run a webhook."""
    app = web.Application(client_max_size=2**26)
    server = TestServer(app, host="127.0.0.1", scheme="https" if tls else "http")
    webhook = FakeWebhook("", answers)
    app.router.add_post("/ext/{verb}", webhook.handle)
    await server.start_server(ssl=tls)
    webhook.url = str(server.make_url("/ext"))
    try:
        yield webhook
    finally:
        await server.close()
