"""API servers and extenders that attack the scheduler with their responses.

Each attack would go on forever, or take gigabytes, if the client did not stop it. Timeouts here are
many times longer than the client needs to detect the attack.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.tls_settings import TlsSettings
from mooring.client.transport import MAX_OBJECT, Request
from mooring.client.transports import make_transport
from mooring.errors import ApiError, ExtenderError, NoAnswerError
from mooring.extenders.webhook import Webhook
from mooring.observe.clock import SystemClock
from tests.adversary.hostile_server import CHUNKED, OK, Peer, endless, explode, hostile
from tests.extenders.webhooks import make_config
from tests.support import kubeconfigs
from tests.support.api import Api
from tests.support.local_up import MOORING
from tests.support.processes import Process
from tests.support.waiting import PATIENCE, eventually

#: Bytes that the socket buffers of both ends can hold.
BUFFERS = 2**23


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[Client]:
    client = Client(make_transport(Connection(server=url, tls=TlsSettings(insecure=True))))
    try:
        async with asyncio.timeout(PATIENCE):
            yield client
    finally:
        await client.close()


async def ask(client: Client, seconds: float = PATIENCE) -> bytes:
    return await client.request("GET", "/api/v1/pods/a", timeout=seconds, retries=0)


async def test_an_endless_body_is_cut_at_the_size_of_an_object() -> None:
    with hostile(endless) as server:
        async with client_of(server.url) as client:
            with pytest.raises(ApiError, match="the response is larger than 16 MiB") as raised:
                await ask(client)
            assert raised.value.maybe_applied
        assert server.sent <= MAX_OBJECT + BUFFERS


async def test_an_endless_error_is_cut_and_its_text_shortened() -> None:
    def refuse(peer: Peer) -> None:
        peer.head()
        text = json.dumps({"kind": "Status", "message": "x" * 5_000_000, "code": 500}).encode()
        head = b"HTTP/1.1 500 Broken\r\nContent-Length: %d\r\n\r\n" % len(text)
        peer.write(head + text)
        peer.wait()

    with hostile(refuse) as server:
        async with client_of(server.url) as client:
            with pytest.raises(ApiError) as raised:
                await ask(client)
            with pytest.raises(ApiError) as watched:
                async with client.watch(Pod):
                    raise AssertionError
    assert len(str(raised.value)) < 2**17 > len(str(watched.value))


def endless_line(peer: Peer) -> None:
    """Send a watch event without an end."""
    peer.head()
    peer.write(CHUNKED + b'b\r\n{"type":"AD\r\n')
    piece = b"%x\r\n%s\r\n" % (2**18, b"x" * 2**18)
    while True:
        peer.write(piece)


async def test_an_endless_watch_event_is_cut() -> None:
    with hostile(endless_line) as server:
        async with client_of(server.url) as client:
            with pytest.raises(ApiError, match="an event is larger than"):
                async with client.watch(Pod) as watch:
                    async for _ in watch.batches():
                        raise AssertionError
        assert server.sent <= MAX_OBJECT + BUFFERS


def endless_head(peer: Peer) -> None:
    peer.head()
    peer.write(OK)
    while True:
        peer.write(b"A-Header: " + b"x" * 1000 + b"\r\n")


def endless_line_of_head(peer: Peer) -> None:
    peer.head()
    peer.write(OK + b"A-Header: ")
    while True:
        peer.write(b"x" * 1000)


def endless_trailer(peer: Peer) -> None:
    peer.head()
    peer.write(CHUNKED + b"0\r\n")
    while True:
        peer.write(b"A-Trailer: " + b"x" * 1000 + b"\r\n")


def endless_chunk_size(peer: Peer) -> None:
    peer.head()
    peer.write(CHUNKED + b"1;")
    while True:
        peer.write(b"x" * 1000)


def endless_interim(peer: Peer) -> None:
    peer.head()
    while True:
        peer.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def five_thousand_interim(peer: Peer) -> None:
    peer.head()
    peer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 5_000 + OK + b"Content-Length: 2\r\n\r\n{}")
    peer.wait()


def two_lengths(peer: Peer) -> None:
    peer.head()
    peer.write(OK + b"Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}")
    peer.wait()


def length_and_chunks(peer: Peer) -> None:
    peer.head()
    peer.write(OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    peer.wait()


def folded(peer: Peer) -> None:
    peer.head()
    peer.write(OK + b"A: b\r\n Content-Length: 2\r\n\r\n{}")
    peer.wait()


@pytest.mark.parametrize(
    "talk",
    [
        endless_head,
        endless_line_of_head,
        endless_trailer,
        endless_chunk_size,
        endless_interim,
        five_thousand_interim,
        two_lengths,
        length_and_chunks,
        folded,
    ],
)
async def test_what_is_not_honest_http_is_refused(talk: Callable[[Peer], None]) -> None:
    with hostile(talk) as server:
        async with client_of(server.url) as client:
            with pytest.raises(NoAnswerError, match="the answer is not valid HTTP: ") as raised:
                await ask(client)
            assert raised.value.sent
            with pytest.raises(ApiError):
                async with client.watch(Pod) as watch:
                    async for _ in watch.batches():
                        pass
        webhook = Webhook(make_config(urlPrefix=server.url), SystemClock())
        with pytest.raises(ExtenderError, match="connection broken"):
            await webhook.post("filter", b"{}")
        await webhook.close()
        assert server.sent <= 3 * BUFFERS


def mute(peer: Peer) -> None:
    peer.wait()


def drip(peer: Peer) -> None:
    """Send a head byte by byte: data keeps arriving, but the head never ends."""
    peer.head()
    peer.write(OK + b"A-Header: ")
    while True:
        peer.write(b"x")
        peer.pause(0.02)


@pytest.mark.parametrize("talk", [mute, drip], ids=["mute", "drop by drop"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_server_that_keeps_a_client_waiting_is_given_up(
    talk: Callable[[Peer], None], scheme: str
) -> None:
    """With https, the TLS handshake never finishes."""
    with hostile(mute if scheme == "https" else talk) as server:
        url = f"{scheme}://127.0.0.1:{server.port}"
        async with client_of(url) as client:
            with pytest.raises(NoAnswerError) as raised:
                await ask(client, 0.5)
            assert raised.value.sent is (scheme == "http")
        transport = make_transport(Connection(server=url, tls=TlsSettings(insecure=True)))
        request = Request("GET", "/watch", timeout=0.5)
        with pytest.raises(NoAnswerError):
            async with asyncio.timeout(PATIENCE), transport.stream(request, idle_timeout=None):
                raise AssertionError
        await transport.close()
        webhook = Webhook(
            make_config(urlPrefix=url, httpTimeout="500ms", tlsConfig={"insecure": True}),
            SystemClock(),
        )
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(ExtenderError, match="context deadline exceeded"):
                await webhook.post("filter", b"{}")
        await webhook.close()


async def test_more_requests_than_connections_are_all_given_up() -> None:
    """The timeout includes the wait for a connection, and closing ends all requests."""
    with hostile(mute) as server:
        async with client_of(server.url) as client:
            held = [asyncio.create_task(ask(client, PATIENCE)) for _ in range(40)]
            while server.connections < 32:
                await asyncio.sleep(0.01)
            with pytest.raises(NoAnswerError, match="no connection became free") as raised:
                await ask(client, 0.1)
            assert not raised.value.sent
            await client.close()
            found = await asyncio.gather(*held, return_exceptions=True)
    assert all(isinstance(one, NoAnswerError) for one in found)
    assert {one.sent for one in found if isinstance(one, NoAnswerError)} == {True, False}


# Memory, measured in a separate process.

CHILD = """
import asyncio, sys
from pathlib import Path
from mooring.api import Pod
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.transports import make_transport
from mooring.config.decode import Decoder
from mooring.config.types import Extender
from mooring.errors import ExtenderError, MooringError
from mooring.extenders.webhook import Webhook
from mooring.observe.clock import SystemClock

def peak():
    # Of this program alone: ru_maxrss remembers that of the parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

async def main(what, url):
    before = peak()
    try:
        if what == "extender":
            config = Decoder().struct({"urlPrefix": url}, Extender, "")
            said = await Webhook(config, SystemClock()).post("filter", b"{}")
        else:
            client = Client(make_transport(Connection(server=url)))
            if what == "list":
                said = len((await client.list(Pod)).items)
            else:
                said = await client.request("GET", "/api/v1/pods/a", retries=0)
    except MooringError as error:
        said = error
    print((peak() - before) // 1024)
    print(said)

asyncio.run(main(*sys.argv[1:]))
"""


async def grow(what: str, url: str) -> tuple[int, str]:
    """Return by how many MiB a client grows with one request, and the result of the request."""
    command = [sys.executable, "-c", CHILD, what, url]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    async with asyncio.timeout(PATIENCE):
        output, _ = await process.communicate()
    grown, said = output.decode().split("\n", 1)
    return int(grown), said.strip()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("object", "the response is larger than 16 MiB"),
        ("list", "the response inflates to more than 100 times its size"),
        ("extender", "the response is larger than 10 MiB"),
    ],
)
async def test_a_bomb_does_not_go_off(what: str, words: str) -> None:
    """Two megabytes that inflate to two gigabytes."""
    with hostile(explode) as server:
        grown, said = await grow(what, server.url)
    assert said.endswith(words)
    assert grown < 100


async def test_an_endless_extender_does_not_fill_the_memory() -> None:
    with hostile(endless) as server:
        grown, said = await grow("extender", server.url)
        assert server.sent <= 10 * 2**20 + BUFFERS
    assert said == "the response is larger than 10 MiB"
    assert grown < 100


POD = (
    '{"metadata":{"name":"web-%d","generateName":"web-","namespace":"default","uid":"%s",'
    '"resourceVersion":"%d","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"web",'
    '"pod-template-hash":"5b8d7c9f4"},"ownerReferences":[{"apiVersion":"apps/v1","kind":'
    '"ReplicaSet","name":"web-5b8d7c9f4","uid":"%s","controller":true}]},"spec":{"nodeName":'
    '"node-%d","containers":[{"name":"web","image":"registry.example/web:1.2.3","resources":'
    '{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},"ports":'
    '[{"containerPort":8080}]}],"schedulerName":"default-scheduler"},"status":{"phase":"Running",'
    '"podIP":"10.%d.%d.%d","conditions":[{"type":"Ready","status":"True"}]}}'
)


def fifty_thousand_pods() -> bytes:
    owner = uuid.UUID(int=1)
    items = ",".join(
        POD % (i, uuid.uuid5(owner, str(i)), i, owner, i % 500, i >> 16, i >> 8 & 255, i & 255)
        for i in range(50_000)
    )
    head = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['
    return f"{head}{items}]}}".encode()


async def test_fifty_thousand_pods_come_in_one_page() -> None:
    """A genuine list of that size is accepted, compressed as a real server sends it."""
    body = fifty_thousand_pods()
    packed = gzip.compress(body, 1)

    def answer(peer: Peer) -> None:
        assert b"Accept-Encoding: gzip" in peer.head()
        head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
        peer.write(OK + head + packed)
        peer.wait()

    with hostile(answer) as server:
        grown, said = await grow("list", server.url)
    assert said == "50000"
    assert len(body) > MAX_OBJECT
    # Enough for the text and the objects, twice over.
    assert grown < 12 * (len(body) >> 20)


# From the extender to the pod.


def lie(peer: Peer) -> None:
    """Answer each request with an error of 5 MB."""
    while True:
        head, _, body = peer.head().partition(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        while len(body) < length:
            body += peer.read()
        text = b'{"Error":"' + b"x" * 5_000_000 + b'"}'
        peer.write(OK + b"Content-Length: %d\r\n\r\n" % len(text) + text)


def _condition(api: Api) -> str:
    conditions = api.get("Pod", "a", "default")["status"].get("conditions", ())
    return next((one["message"] for one in conditions if one["type"] == "PodScheduled"), "")


def test_a_long_error_of_an_extender_reaches_the_pod_in_short(tmp_path: Path) -> None:
    kubeconfig, log = tmp_path / "kubeconfig", tmp_path / "log"
    config = tmp_path / "config.yaml"
    with hostile(lie) as server:
        extender = {"urlPrefix": server.url, "filterVerb": "filter", "enableHTTPS": False}
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [extender],
        }
        config.write_text(json.dumps(document))
        flags = ["up", f"--kubeconfig={kubeconfig}", f"--config={config}", "--nodes=1"]
        process = Process(MOORING, flags, log)
        try:
            process.wait_until(kubeconfig.exists, PATIENCE)
            access = kubeconfigs.access(*kubeconfigs.read(kubeconfig), tmp_path)
            with Api(access) as api:
                process.wait_until(api.is_ready, PATIENCE)
                pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
                containers = [{"name": "c", "image": "i"}]
                api.create({**pod, "spec": {"containers": containers}}, "default")
                message = eventually(lambda: _condition(api), "a condition", PATIENCE)
        finally:
            process.stop()
    assert message == "x" * (2**16 - 4) + " ..."
    assert log.stat().st_size < 10 * 2**16
