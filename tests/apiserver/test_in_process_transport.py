"""Mooring's own client on the API server in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api import Pod
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.errors import ApiError, NoAnswerError
from tests.apiserver.api_server import ADMIN, PODS, ApiServer, pod
from tests.apiserver.listeners import count_listeners
from tests.support.waiting import PATIENCE


async def test_the_client_reads_writes_and_binds() -> None:
    server = ApiServer()
    client = Client(LocalTransport(server.api, ADMIN))
    await server.ask("POST", PODS, pod("p"))
    found = await client.get(Pod, "p", "default")
    await client.bind(found, "n")
    listed = await client.list(Pod)
    assert [(one.name, one.spec.node_name) for one in listed.items] == [("p", "n")]
    with pytest.raises(ApiError, match="already assigned"):
        await client.bind(found, "m")
    await client.delete(Pod, "p", "default", grace_period_seconds=0)
    assert (await client.list(Pod)).items == []
    await client.close()


async def test_the_client_watches() -> None:
    server = ApiServer()
    listeners = count_listeners(server.store)
    client = Client(LocalTransport(server.api, ADMIN))
    async with client.watch(Pod) as watch:
        assert listeners["/pods"] == 1
        await server.ask("POST", PODS, pod("p"))
        async with asyncio.timeout(PATIENCE):
            batch: Any = await anext(watch.batches())
    assert [event.object.name for event in batch] == ["p"]
    assert listeners["/pods"] == 0


async def test_a_silent_watch_counts_as_broken() -> None:
    client = Client(LocalTransport(ApiServer().api, ADMIN))
    with pytest.raises(NoAnswerError):
        async with client.watch(Pod, idle_timeout=0.01) as watch:
            await anext(watch.batches())


async def test_the_transport_has_the_rights_of_its_user() -> None:
    client = Client(LocalTransport(ApiServer().api, RequestUser("system:kube-scheduler")))
    assert (await client.list(Pod)).items == []
    with pytest.raises(ApiError, match="cannot create"):
        await client.create(Pod())
