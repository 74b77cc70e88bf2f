"""A client of servers other than the API server: answers, tokens, limits, refusals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from mooring.client.web_client import WebClient
from mooring.errors import ApiError, ConfigError, NoAnswerError
from mooring.observe.clock import SystemClock


class Server:
    """An HTTP server that records requests and answers one after another."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        self.connections = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await _head(reader):
            self.requests.append(head)
            writer.write(self.answer)
            await writer.drain()
        writer.close()


async def _head(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return ""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    found = Server()
    listening = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield found
    listening.close()


@pytest.fixture
async def client() -> AsyncIterator[WebClient]:
    found = WebClient(SystemClock())
    yield found
    await found.close()


async def test_answers_and_connections_are_kept(server: Server, client: WebClient) -> None:
    for _ in range(2):
        answer = await client.get(f"{server.url}/watcher?a=b c")
        assert (answer.status, answer.body) == (200, b"hello")
    assert server.requests[0].startswith("GET /watcher?a=b%20c HTTP/1.1\r\n")
    assert server.connections == 1


async def test_a_token_is_not_sent_without_tls(server: Server, client: WebClient) -> None:
    await client.get(server.url, token="secret")
    assert "secret" not in server.requests[0]


async def test_other_statuses_are_answers_too(server: Server, client: WebClient) -> None:
    server.answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    assert (await client.get(server.url)).status == 503


async def test_an_answer_that_is_too_large_is_refused(server: Server, client: WebClient) -> None:
    with pytest.raises(ApiError, match=r"\d+ bytes"):
        await client.get(server.url, max_bytes=4)


async def test_a_server_that_is_not_there(client: WebClient) -> None:
    with pytest.raises(NoAnswerError):
        await client.get("http://127.0.0.1:1/")


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://h:0", "http://[::1"])
async def test_an_address_that_is_none(client: WebClient, url: str) -> None:
    with pytest.raises(ConfigError, match="server must be a URL"):
        await client.get(url)
