"""Events go an hour after their last change."""

from __future__ import annotations

import datetime
from typing import Any

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
