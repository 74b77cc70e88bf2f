"""Events are deleted an hour after their last change."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from mooring.apiserver import expiry as expiry_module
from mooring.apiserver.expiry import EventExpiry
from tests.apiserver.api_server import ApiServer

EVENTS = "/api/v1/namespaces/default/events"


def event(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "R",
        "message": "m",
    }


async def test_an_event_that_changes_lives_on() -> None:
    server = ApiServer()
    expiry = EventExpiry(server.cluster)
    for name in ("old", "kept"):
        await server.ask("POST", EVENTS, event(name))
    server.now += datetime.timedelta(minutes=40)
    await server.ask("PUT", f"{EVENTS}/kept", event("kept") | {"count": 2})
    expiry.expire()
    assert server.store.count("/events") == 2
    server.now += datetime.timedelta(minutes=30)
    expiry.expire()
    assert [one.key for one in server.store.items("/events")] == ["default/kept"]


async def test_the_time_to_live_may_be_another() -> None:
    server = ApiServer()
    expiry = EventExpiry(server.cluster, datetime.timedelta(seconds=10))
    await server.ask("POST", EVENTS, event("e"))
    server.now += datetime.timedelta(seconds=9)
    expiry.expire()
    assert server.store.count("/events") == 1
    server.now += datetime.timedelta(seconds=1)
    expiry.expire()
    assert server.store.count("/events") == 0


async def test_of_too_many_events_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry_module, "MOST", 3)
    server = ApiServer()
    expiry = EventExpiry(server.cluster)
    for i in range(8):
        await server.ask("POST", EVENTS, event(f"e{i}"))
    await server.ask("PUT", f"{EVENTS}/e0", event("e0") | {"count": 2})
    # Events are deleted in slices, to yield to other tasks.
    assert expiry.expire(4)
    assert server.store.count("/events") == 4
    assert not expiry.expire(4)
    assert [one.key for one in server.store.items("/events")] == [
        "default/e0",
        "default/e6",
        "default/e7",
    ]
