"""Idle connections to both servers: how much memory they use, and how they are closed.

`MOORING_IDLE_CONNECTIONS=10000` in the environment tests the promised size: 10,000 connections to
each server use at most 250 MB. Both sides need as many open files (`ulimit -n`).
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.test_api_server import Client
from tests.support.idle_connections import (
    PART_OF_A_HEAD,
    PART_OF_A_HELLO,
    IdleConnections,
    idle_connections,
    memory_mb,
    open_files,
)
from tests.support.ports import Ports, Victim
from tests.support.processes import LOOPBACK
from tests.support.waiting import PATIENCE, eventually

NUMBER = int(os.environ.get("MOORING_IDLE_CONNECTIONS", "1000"))
#: MB per connection: 250 MB for 10,000.
MB_EACH = 0.025
TOO_MANY = "Too many connections"


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    """Yield an object that starts servers, with a high limit of open files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    ports = Ports(tmp_path_factory.mktemp("sockets"))
    try:
        yield ports
    finally:
        ports.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def local(ports: Ports) -> Victim:
    """Return the local API server."""
    return ports.local()


@pytest.fixture(scope="module")
def secure(ports: Ports, local: Victim) -> Victim:
    """Return the scheduler's secure port."""
    return ports.secure()


@pytest.fixture(params=["local", "secure"])
def victim(request: pytest.FixtureRequest) -> Victim:
    """Return each of the two servers."""
    found: Victim = request.getfixturevalue(request.param)
    return found


def wait_until_closed(held: IdleConnections) -> None:
    """Wait until the server has closed every connection."""
    eventually(lambda: held.closed() == len(held), "every connection is closed", PATIENCE)


def test_idle_connections_cost_little_and_are_closed(local: Victim, secure: Victim) -> None:
    async def both() -> None:
        first, second = _leave_idle(local), _leave_idle(secure)
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 2 * NUMBER + 500:
            await asyncio.gather(first, second)
        else:
            await first
            await second

    asyncio.run(both())


async def _leave_idle(victim: Victim) -> None:
    pid = victim.process.pid
    memory = memory_mb(pid)
    with idle_connections(victim.port) as held:
        await asyncio.to_thread(held.open, NUMBER // 2)
        await asyncio.to_thread(held.open, NUMBER // 4, PART_OF_A_HELLO)
        await held.open_tls(NUMBER // 4, PART_OF_A_HEAD)
        assert await asyncio.to_thread(victim.is_well)
        assert memory_mb(pid) - memory <= NUMBER * MB_EACH
        await asyncio.to_thread(wait_until_closed, held)
        assert await asyncio.to_thread(victim.is_well)
        assert memory_mb(pid) - memory <= NUMBER * MB_EACH


def test_connections_after_a_request_cost_little(victim: Victim) -> None:
    asyncio.run(_leave_after_a_request(victim))


async def _leave_after_a_request(victim: Victim) -> None:
    pid = victim.process.pid
    memory = memory_mb(pid)
    with idle_connections(victim.port) as held:
        await held.open_tls(NUMBER // 4, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await asyncio.to_thread(victim.is_well)
        assert memory_mb(pid) - memory <= NUMBER * MB_EACH


def test_half_closed_connections_are_closed(victim: Victim) -> None:
    with idle_connections(victim.port) as held:
        for first in (b"", PART_OF_A_HELLO, PART_OF_A_HELLO[:3]):
            held.open(100, first)
        held.end_sending()
        wait_until_closed(held)
    assert victim.is_well()


def test_a_lack_of_files_stops_neither_the_server_nor_its_answers(
    ports: Ports, local: Victim
) -> None:
    victim = ports.secure(files=300)
    pid = victim.process.pid
    with idle_connections(victim.port) as held:
        held.open(600)
        assert victim.is_well()
        assert open_files(pid) < 300
        # The kernel queues connections that are not accepted; a busy loop would use a whole CPU.
        before = _cpu_seconds(pid)
        for _ in range(5):
            assert victim.is_well()
        assert _cpu_seconds(pid) - before < 5
    assert TOO_MANY in victim.process.log()
    assert victim.process.log().count(TOO_MANY) == 1
    victim.process.stop()


def test_many_watches_of_an_authenticated_client_outlast_the_strangers(
    ports: Ports, local: Victim, tmp_path: Path
) -> None:
    admin = Client(ports.kubeconfig, tmp_path).admin
    watch = b"GET /api/v1/pods?watch=true HTTP/1.1\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as stack:
        watches = []
        for _ in range(10):
            raw = socket.create_connection((LOOPBACK, local.port), 20)
            one = stack.enter_context(admin.wrap_socket(raw, server_hostname=LOOPBACK))
            one.sendall(watch)
            assert one.recv(12) == b"HTTP/1.1 200"
            watches.append(one)
        held = stack.enter_context(idle_connections(local.port))
        # More connections than one address may have.
        held.open(6000)
        assert TOO_MANY in local.process.log()
        connection = http.client.HTTPSConnection(LOOPBACK, local.port, context=admin, timeout=20)
        stack.enter_context(contextlib.closing(connection))
        body = json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "seen-by-all"},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            }
        )
        path = "/api/v1/namespaces/default/pods"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        assert connection.getresponse().status == 201
        for one in watches:
            seen = b""
            while b"seen-by-all" not in seen:
                part = one.recv(2**16)
                assert part, "a watch was closed"
                seen += part


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
