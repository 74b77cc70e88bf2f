"""Posting to a webhook: TLS, timeouts, and failures worded as Go does."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ConfigError, ExtenderError
from mooring.extenders.webhook import (
    AWAITING_HEADERS,
    CA_AND_INSECURE,
    READING_BODY,
    Webhook,
    explain_failure,
)
from mooring.observe.clock import SystemClock
from tests.extenders.webhooks import make_config, serving
from tests.support.certificates import Authority


@asynccontextmanager
async def webhook(**fields: Any) -> AsyncIterator[Webhook]:
    made = Webhook(make_config(**fields), SystemClock())
    try:
        yield made
    finally:
        await made.close()


async def post(body: bytes = b"{}", verb: str = "filter", **fields: Any) -> bytes:
    async with webhook(**fields) as made:
        return await made.post(verb, body)


async def failure(**fields: Any) -> str:
    with pytest.raises(ExtenderError) as raised:
        await post(**fields)
    return str(raised.value)


async def test_a_question_is_posted_as_json() -> None:
    async with serving({"filter": {"Error": "no"}}) as server:
        assert await post(b'{"Pod":null}', urlPrefix=server.url + "//") == b'{"Error": "no"}'
        assert server.asked == [("filter", {"Pod": None})]
        assert server.headers[0]["Content-Type"] == "application/json"
        assert server.headers[0]["Content-Length"] == "12"
        assert "Accept" not in server.headers[0]


@pytest.mark.parametrize("code", [201, 204, 400, 404, 500])
async def test_an_answer_other_than_200_is_a_failure(code: int) -> None:
    async with serving({"filter": code}) as server:
        expected = f"failed filter with extender at URL {server.url}/filter, code {code}"
        assert await failure(urlPrefix=server.url) == expected


async def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        url = f"http://127.0.0.1:{port}/ext"
        assert await failure(urlPrefix=url) == (
            f'Post "{url}/filter": dial tcp 127.0.0.1:{port}: connect: connection refused'
        )


@pytest.mark.parametrize(
    ("scheme", "words"), [("http", "dial tcp: lookup extender.invalid"), ("ftp", "unsupported")]
)
async def test_failures_name_neither_user_nor_query(scheme: str, words: str) -> None:
    found = await failure(urlPrefix=f"{scheme}://me:s3cret@extender.invalid/x?key=s3cret")
    assert found.startswith(f'Post "{scheme}://extender.invalid/x?key=…": {words}')
    assert "s3cret" not in found


async def test_a_response_with_an_error_names_neither_user_nor_query() -> None:
    async with serving({"filter": 500}) as server:
        url = server.url.replace("://", "://me:s3cret@")
        found = await failure(urlPrefix=url)
    assert found == f"failed filter with extender at URL {server.url}/filter, code 500"


async def test_a_name_that_nobody_has() -> None:
    url = "http://extender.invalid"
    expected = f'Post "{url}/filter": dial tcp: lookup extender.invalid: no such host'
    assert await failure(urlPrefix=url) == expected


@pytest.mark.parametrize(
    ("url", "scheme"), [("", ""), ("extender:80", "extender"), ("ftp://host", "ftp")]
)
async def test_an_address_that_is_not_of_the_web(url: str, scheme: str) -> None:
    expected = f'Post "{url}/filter": unsupported protocol scheme "{scheme}"'
    assert await failure(urlPrefix=url) == expected


async def test_an_address_without_a_scheme() -> None:
    expected = 'parse "127.0.0.1:80/filter": first path segment in URL cannot contain colon'
    assert await failure(urlPrefix="127.0.0.1:80") == expected


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, reason)
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
            "read: connection reset by peer",
            id="a connection that the other side cut",
        ),
        pytest.param(
            tls_error("TLSV13_ALERT_CERTIFICATE_REQUIRED"),
            "remote error: tls: certificate required",
            id="a server that wants to know who asks",
        ),
        pytest.param(
            tls_error("BAD_LENGTH"),
            "tls: bad length",
            id="what Go has no word for",
        ),
    ],
)
def test_failures_are_told_in_gos_words(error: OSError, words: str) -> None:
    assert explain_failure(error) == words


async def test_an_answer_that_does_not_come_in_time() -> None:
    forever = asyncio.Event()

    async def wait(question: Any) -> None:
        await forever.wait()

    async with serving({"filter": wait}) as server:
        expected = f'Post "{server.url}/filter": {AWAITING_HEADERS}'
        assert await failure(urlPrefix=server.url, httpTimeout="50ms") == expected
        forever.set()


@asynccontextmanager
async def raw_server(*answers: bytes, close: bool = True) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Respond to each connection with the given bytes; the last are used for all that follow."""
    left = list(answers)
    asked: list[bytes] = []
    end = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(65536))
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        await writer.drain()
        if not close:
            await end.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", asked
    finally:
        end.set()
        server.close()
        await server.wait_closed()


CUT = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"NodeNames":'
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


async def test_an_answer_that_breaks_off() -> None:
    async with raw_server(CUT) as (url, _):
        assert await failure(urlPrefix=url) == "unexpected EOF"


async def test_an_answer_that_stops_coming() -> None:
    async with raw_server(CUT, close=False) as (url, _):
        assert await failure(urlPrefix=url, httpTimeout="1s") == READING_BODY


async def test_a_question_whose_connection_was_closed_is_asked_again() -> None:
    async with raw_server(b"", WHOLE) as (url, asked):
        assert await post(urlPrefix=url) == b"{}"
        assert len(asked) == 2
    async with raw_server(b"") as (url, asked):
        assert await failure(urlPrefix=url) == f'Post "{url}/filter": EOF'
        assert len(asked) == 2


async def test_a_write_whose_connection_was_closed_is_not_repeated() -> None:
    async with raw_server(b"", WHOLE) as (url, asked), webhook(urlPrefix=url) as made:
        with pytest.raises(ExtenderError, match="EOF"):
            await made.post("bind", b"{}", repeatable=False)
        assert len(asked) == 1


async def test_a_write_may_be_withheld_right_before_it_is_sent() -> None:
    calls: list[str] = []

    def refuse() -> None:
        calls.append("asked")
        raise OSError("not the leader")

    async with raw_server(WHOLE) as (url, asked):
        made = Webhook(make_config(urlPrefix=url), SystemClock(), refuse)
        assert await made.post("filter", b"{}") == b"{}"
        with pytest.raises(OSError, match="not the leader"):
            await made.post("bind", b"{}", repeatable=False)
        await made.close()
    assert calls == ["asked"]
    assert [one.split(b" ")[1] for one in asked if one] == [b"/filter"]


def packed(size: int) -> bytes:
    body = gzip.compress(b'"' + b"x" * (size - 2) + b'"')
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    return head % len(body) + body


async def test_a_response_has_a_largest_size() -> None:
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 11 * 2**20
    for answer in (endless, packed(10 * 2**20 + 1)):
        async with raw_server(answer) as (url, asked):
            assert await failure(urlPrefix=url) == "the response is larger than 10 MiB"
            assert len(asked) == 1
    async with raw_server(packed(10 * 2**20)) as (url, _):
        assert len(await post(urlPrefix=url)) == 10 * 2**20
    async with raw_server(packed(1001)) as (url, _):
        made = Webhook(make_config(urlPrefix=url), SystemClock(), max_response=1000)
        with pytest.raises(ExtenderError, match="larger than 1000 bytes"):
            await made.post("filter", b"{}")
        await made.close()


async def test_a_response_that_can_be_read_in_two_ways_is_refused() -> None:
    twice = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"
    async with raw_server(twice) as (url, _):
        assert "Duplicate Content-Length" in await failure(urlPrefix=url)


async def test_an_extender_may_send_the_question_elsewhere() -> None:
    async with raw_server(WHOLE) as (there, asked):
        for code, method in ((302, b"GET"), (307, b"POST"), (308, b"POST")):
            head = f"HTTP/1.1 {code} Away\r\nLocation: {there}/new\r\nContent-Length: 0\r\n\r\n"
            async with raw_server(head.encode()) as (url, _):
                assert await post(b'{"a":1}', urlPrefix=url) == b"{}"
            first, _, body = asked.pop().partition(b"\r\n\r\n")
            assert first.startswith(method + b" /new HTTP/1.1\r\n")
            assert body == (b'{"a":1}' if method == b"POST" else b"")
    here = b"HTTP/1.1 307 Round\r\nLocation: /filter\r\nContent-Length: 0\r\n\r\n"
    async with raw_server(here) as (url, asked):
        assert (await failure(urlPrefix=url)).endswith("stopped after 10 redirects")
        assert len(asked) == 10
    for place, words in (("ftp://x/", "unsupported protocol scheme"), ("http://x:99999/", "port")):
        away = f"HTTP/1.1 307 Away\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"
        async with raw_server(away.encode()) as (url, _):
            assert words in (await failure(urlPrefix=url)).lower()


async def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_server(WHOLE) as (proxy, asked):
        monkeypatch.setenv("http_proxy", proxy.replace("://", "://ada:x@"))
        monkeypatch.delenv("no_proxy", raising=False)
        assert await post(urlPrefix="http://extender.invalid:81/ext") == b"{}"
    assert asked[0].startswith(b"POST http://extender.invalid:81/ext/filter HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic YWRhOng=\r\n" in asked[0]


async def test_what_is_no_http_is_a_failure() -> None:
    async with raw_server(b"hello\r\n\r\n") as (url, _):
        assert (await failure(urlPrefix=url)).startswith(f'Post "{url}/filter": ')


# TLS.


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


def server_tls(authority: Authority, *, asks_for_certificate: bool = False) -> ssl.SSLContext:
    pair = authority.server("extender")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    if asks_for_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.certificate)
    return context


async def test_https_without_an_authority_trusts_anybody_where_it_is_enabled(
    authority: Authority,
) -> None:
    async with serving({"filter": {}}, server_tls(authority)) as server:
        assert await post(urlPrefix=server.url, enableHTTPS=True) == b"{}"
        assert await post(urlPrefix=server.url, tlsConfig={"insecure": True}) == b"{}"
        assert (await failure(urlPrefix=server.url)).startswith(
            f'Post "{server.url}/filter": tls: failed to verify certificate: x509: '
        )


async def test_an_authority_is_trusted_as_file_and_as_data(authority: Authority) -> None:
    by_file = {"caFile": str(authority.certificate)}
    by_data = {"caData": _base64(authority.certificate)}
    async with serving({"filter": {}}, server_tls(authority)) as server:
        for tls in (by_file, by_data):
            assert await post(urlPrefix=server.url, enableHTTPS=True, tlsConfig=tls) == b"{}"


async def test_the_server_name_is_checked_in_place_of_the_address(authority: Authority) -> None:
    tls = {"caFile": str(authority.certificate)}
    async with serving({"filter": {}}, server_tls(authority)) as server:
        right = {**tls, "serverName": "kubernetes.default.svc"}
        assert await post(urlPrefix=server.url, enableHTTPS=True, tlsConfig=right) == b"{}"
        wrong = {**tls, "serverName": "somebody.else"}
        problem = await failure(urlPrefix=server.url, enableHTTPS=True, tlsConfig=wrong)
        assert "x509" in problem


async def test_a_client_certificate_is_shown(authority: Authority) -> None:
    pair = authority.client("scheduler")
    tls = {"caFile": str(authority.certificate)}
    files = {"certFile": str(pair.certificate), "keyFile": str(pair.key)}
    data = {"certData": _base64(pair.certificate), "keyData": _base64(pair.key)}
    strict = server_tls(authority, asks_for_certificate=True)
    async with serving({"filter": {}}, strict) as server:
        for shown in (files, data):
            assert await post(urlPrefix=server.url, tlsConfig={**tls, **shown}) == b"{}"
        await failure(urlPrefix=server.url, tlsConfig=tls)
        await failure(urlPrefix=server.url, tlsConfig={**tls, "certFile": files["certFile"]})


@pytest.mark.parametrize(
    ("tls", "problem"),
    [
        ({"insecure": True, "caFile": "/nowhere"}, CA_AND_INSECURE),
        ({"caFile": "/nowhere"}, "cannot read /nowhere: No such file or directory"),
        ({"caData": "eA=="}, "unable to load root certificates"),
        ({"certFile": "/nowhere", "keyData": "eA=="}, "cannot read /nowhere"),
    ],
    ids=["an authority that is not to be used", "no such file", "no PEM", "no such certificate"],
)
def test_mistakes_in_tls_show_at_the_start(tls: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Webhook(make_config(urlPrefix="https://extender", tlsConfig=tls), SystemClock())


def _base64(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
