"""Malformed HTTP that is sent to both servers: no traceback, and no response with status 500."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import logging
import random
import socket
import ssl
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.observe.clock import SystemClock
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.delegated_authorization import DelegatingAuthorizer
from mooring.serve.endpoints import Endpoints
from mooring.serve.review_client import TokenReviews
from mooring.serve.secure_server import Gate, SecureServer
from mooring.serve.serving_options import Authentication, SecureServing
from mooring.serve.serving_tls import ServingTls
from tests.apiserver.test_api_server import Client
from tests.serve.fake_api import FakeApi
from tests.serve.test_serving import World

PATIENCE = 20.0
#: Logged for a token that is not valid.
REFUSED = "Unable to authenticate the request"
LAST = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
MAPS = "/api/v1/namespaces/default/configmaps"
OBJECT = json.dumps(
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}}
).encode()


class Target:
    """A server in this process to which tests send bytes, each time on a new connection."""

    def __init__(self, port: int, context: ssl.SSLContext, paths: list[str]) -> None:
        self.port = port
        self._context = context
        #: Paths that the server serves.
        self.paths = paths

    async def say(self, data: bytes, seconds: float = PATIENCE) -> bytes:
        """Send bytes; return what is received until the connection ends or the time is over."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self._context)
        answer = b""
        try:
            writer.write(data)
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(seconds):
                    while chunk := await reader.read(2**16):
                        answer += chunk
        finally:
            writer.transport.abort()
        return answer

    async def ask(self, line: str, *headers: str, body: bytes = b"") -> tuple[int, str, bytes]:
        """Send one request; return the status, the content type and the body of the response."""
        lines = [f"{line} HTTP/1.1", "Host: x", *headers, f"Content-Length: {len(body)}"]
        data = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")
        head, _, rest = (await self.say(data + body)).partition(b"\r\n\r\n")
        fields = dict(one.lower().split(b": ", 1) for one in head.split(b"\r\n")[1:])
        return int(head.split()[1]), fields.get(b"content-type", b"").decode(), rest


async def _local(folder: Path) -> AsyncIterator[Target]:
    server = ApiServer(ServerSettings(kubeconfig=folder / "kubeconfig"))
    await server.start()
    server.write_kubeconfig()
    admin = Client(folder / "kubeconfig", folder).admin
    port = int(urlsplit(server.url).port or 0)
    yield Target(port, admin, [MAPS, f"{MAPS}/one", "/healthz", "/apis", "/openapi/v3", "/"])
    await server.stop()


async def _secure() -> AsyncIterator[Target]:
    clock = SystemClock()
    authorities = ClientAuthorities(Authentication(skip_lookup=True))
    await authorities.load()
    endpoints = Endpoints(World().sources(), clock)
    api = FakeApi()
    api.answers = [{"status": {"authenticated": False}} for _ in range(1000)]
    tokens = TokenReviews(api, clock, 0)
    gate = Gate(
        endpoints, DelegatingAuthenticator(authorities, tokens), DelegatingAuthorizer(("/*",), None)
    )
    tls = ServingTls(SecureServing(bind_address="127.0.0.1"), ask=True, authorities=b"")
    server = SecureServer(endpoints, clock)
    listener = socket.create_server(("127.0.0.1", 0))
    await server.serve_securely(listener, tls, gate, authorities)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    paths = ["/healthz", "/livez/ping", "/metrics", "/configz", "/statusz", "/debug/flags/v"]
    yield Target(listener.getsockname()[1], context, paths)
    await server.stop()
    listener.close()


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Target]:
    """Yield the local API server; requests are those of its administrator."""
    async for target in _local(tmp_path):
        yield target


@pytest.fixture
async def secure() -> AsyncIterator[Target]:
    """Yield the scheduler's secure port, where every path is open to every client."""
    async for target in _secure():
        yield target


@pytest.fixture(params=["local", "secure"])
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Target]:
    """Yield each of the two servers."""
    async for target in _local(tmp_path) if request.param == "local" else _secure():
        yield target


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was logged as an error or with a traceback."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.exc_info or (record.levelno >= logging.ERROR and record.message != REFUSED)
    ]


# Bodies that claim to be compressed.

BODIES = [
    pytest.param("gzip", b"garbage", id="what is no gzip"),
    pytest.param("gzip", gzip.compress(OBJECT), id="gzip"),
    pytest.param("gzip", gzip.compress(OBJECT)[:20], id="half of a gzip"),
    pytest.param("gzip", gzip.compress(b" " * 50_000_000), id="a gzip bomb"),
    pytest.param("deflate", zlib.compress(OBJECT), id="deflate"),
    pytest.param("deflate", b"\x00garbage", id="what is no deflate"),
    pytest.param("br", b"garbage", id="what is no brotli"),
    pytest.param("zstd", b"garbage", id="what is no zstd"),
    pytest.param("gzip, gzip", gzip.compress(gzip.compress(OBJECT)), id="gzip twice"),
]


@pytest.mark.parametrize(("encoding", "body"), BODIES)
async def test_a_compressed_body_is_a_bad_request(
    local: Target, encoding: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    await local.ask(f"POST {MAPS}", "Content-Type: application/json", body=OBJECT)
    # The real API server does the same: it does not decompress requests.
    headers = (f"Content-Encoding: {encoding}", "Content-Type: application/json")
    for line in (f"POST {MAPS}", f"PUT {MAPS}/one", f"DELETE {MAPS}/one"):
        code, content_type, answer = await local.ask(line, *headers, body=body)
        assert (code, content_type) == (400, "application/json")
        assert json.loads(answer)["kind"] == "Status"
    assert not complaints(caplog)


@pytest.mark.parametrize("encoding", ["identity", "of-my-own", "gzip"])
async def test_the_name_of_an_encoding_changes_nothing(local: Target, encoding: str) -> None:
    headers = (f"Content-Encoding: {encoding}", "Content-Type: application/json")
    code, _, _ = await local.ask(f"POST {MAPS}", *headers, body=OBJECT)
    assert code == 201


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        pytest.param(["Content-Encoding: gzip"], b"garbage", 400, id="what is no gzip"),
        pytest.param(["Content-Type: text/plain; charset=no-such"], b"2", 200, id="a charset"),
        pytest.param(["Content-Type: text/plain; charset=utf-16"], b"2", 200, id="another"),
        pytest.param([], b"\xff\xfe", 400, id="what is no UTF-8"),
        pytest.param([], "\N{ARABIC-INDIC DIGIT TWO}".encode(), 400, id="another digit"),
        pytest.param([], b"9" * 10_000, 400, id="a number of 10,000 digits"),
        pytest.param([], b"1" * (2**20 + 1), 413, id="a body of more than 1 MiB"),
    ],
)
async def test_the_verbosity_is_read_from_any_body(
    secure: Target, headers: list[str], body: bytes, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    found, _, _ = await secure.ask("PUT /debug/flags/v", *headers, body=body)
    assert found == code
    assert not complaints(caplog)


# Malformed HTTP.

HEADS = [
    b"GET /\r\n",
    b"GET / HTTP/0.9\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x00\x05hello\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"GET  /  HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /%ff%fe%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET //// HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://x:99999999/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET ?a=b HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"G\xc3\xa9T / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: [\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: \xff\xfe\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nAccept: ;;;q=\xff,,*/*;;\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a.\xe9.b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic \xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nCookie: \xff=\xfe; ;;\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nRange: bytes=a-b\r\nIf-Modified-Since: never\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + b"\xff" * 99_999,
    b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nExpect: \xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nImpersonate-User: \xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b": b\r\n" + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    b"GET /?" + b"&".join(b"a%d=%%ff" % i for i in range(5000)) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
]
#: Malformed requests with a placeholder for the path.
REQUESTS = [
    b"GET %s?%%ff=%%fe&a;b&=&&labelSelector=%%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET %s?limit=%%zz&timeoutSeconds=-1&watch=maybe&continue=%%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET %s?pretty=%%ff&verbose&exclude=%%ff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET %s/%%2f%%2e%%2e/%%c3%%28 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET %s#fragment HTTP/1.1\r\nHost: x\r\n\r\n",
    b"HEAD %s HTTP/1.1\r\nHost: x\r\n\r\n",
    b"TRACE %s HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}\r\n0\r\n\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"ffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;" + b"x" * 99_999 + b"\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\n{}\r\n0\r\nTrailer: \xff\r\n\r\n",
    b"PUT %s HTTP/1.1\r\nHost: x\r\nContent-Type: \xff;;=\r\nContent-Length: 2\r\n\r\n{}",
    b"PATCH %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json-patch+json\r\n"
    b"Content-Length: 4\r\n\r\n\xff\xfe\xfd\xfc",
    b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/vnd.kubernetes.protobuf\r\n"
    b"Content-Length: 8\r\n\r\nk8s\x00\xff\xff\xff\xff",
    b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/yaml\r\n"
    b"Content-Length: 8\r\n\r\n\xff{[*a: &a",
    b"GET %s HTTP/1.1\r\nHost: x\r\n\r\nGET /nonsense\r\n\r\n",
    b"GET %s HTTP/1.1\r\nHost: x\r\nAccept-Encoding: \xff, gzip;q=\xfe\r\n\r\n",
]


def attacks(target: Target) -> list[bytes]:
    """Return all malformed requests above, with the paths of a server."""
    paths = [path.encode() for path in target.paths]
    return [*HEADS, *(request % path for request in REQUESTS for path in paths)]


async def send_all(target: Target, data: list[bytes]) -> list[bytes]:
    """Send each on a separate connection, and return the responses."""
    turns = asyncio.Semaphore(16)

    async def one(piece: bytes) -> bytes:
        async with turns:
            # The request after it ends the connection, unless it is read as part of a body.
            return await target.say(piece + LAST, seconds=2.0)

    return await asyncio.gather(*(one(piece) for piece in data))


def check(data: bytes, answer: bytes) -> None:
    """Check that no response is an internal error of the server."""
    lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.")]
    for line in lines:
        assert not line.split()[1].startswith(b"500"), (data[:300], answer[:500])
    assert b"Traceback" not in answer


async def test_hostile_requests_are_no_failure_of_the_server(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    data = attacks(target)
    for piece, answer in zip(data, await send_all(target, data), strict=True):
        check(piece, answer)
    assert not complaints(caplog)
    assert (await target.ask("GET /healthz"))[0] == 200


@pytest.mark.parametrize("seed", range(2))
async def test_mutilated_requests_are_no_failure_of_the_server(
    target: Target, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    draw = random.Random(seed)
    data = [mutilated(draw, draw.choice(attacks(target))) for _ in range(100)]
    for piece, answer in zip(data, await send_all(target, data), strict=True):
        check(piece, answer)
    assert not complaints(caplog)
    assert (await target.ask("GET /healthz"))[0] == 200


def mutilated(draw: random.Random, data: bytes) -> bytes:
    """Return bytes with some of them changed, dropped, doubled or added."""
    changed = bytearray(data[:2000])
    for _ in range(draw.randint(1, 6)):
        at = draw.randrange(len(changed) + 1)
        match draw.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([draw.randrange(256)])
            case 1:
                del changed[at : at + draw.randint(1, 10)]
            case 2:
                changed[at:at] = changed[at : at + draw.randint(1, 40)]
            case _:
                changed[at:at] = draw.choice([b"\r\n", b"\x00", b"%", b": ", b"\xff", b"{", b" "])
    return bytes(changed)
