from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.api.kinds import decode_as
from mooring.controllers.component_events import NORMAL, WARNING, ComponentEvents
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster

POD = decode_as(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "5"},
    },
    Pod,
)


async def _sent(cluster: StillCluster, count: int) -> list[dict[str, Any]]:
    """Return the Events once there are so many, sorted by their reason."""
    for _ in range(1000):
        found = await cluster.all("events.v1.")
        if len(found) >= count:
            return sorted(found, key=lambda one: str(one["reason"]))
        await asyncio.sleep(0)
    raise AssertionError(f"never {count} Events")


async def test_an_event_tells_what_happened_to_what() -> None:
    async with still_cluster() as cluster:
        events = ComponentEvents("kubelet", cluster.writer, cluster.clock)
        events.record(POD, WARNING, "Failed", "no room", host="n")
        (event,) = await _sent(cluster, 1)
        assert (event["type"], event["reason"], event["message"]) == (
            "Warning",
            "Failed",
            "no room",
        )
        assert event["source"] == {"component": "kubelet", "host": "n"}
        assert event["involvedObject"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "p",
            "uid": "u",
            "resourceVersion": "5",
        }
        assert event["count"] == 1
        assert event["metadata"]["name"].startswith("p.")
        await events.close()


async def test_a_repeated_event_is_counted() -> None:
    async with still_cluster() as cluster:
        events = ComponentEvents("kubelet", cluster.writer, cluster.clock)
        events.record(POD, NORMAL, "Pulled", "here")
        await _sent(cluster, 1)
        cluster.advance(5)
        events.record(POD, NORMAL, "Pulled", "here")
        events.record(POD, NORMAL, "Started", "it runs")
        pulled, started = await _sent(cluster, 2)
        while pulled["count"] == 1:
            pulled, started = await _sent(cluster, 2)
        assert (pulled["count"], started["count"]) == (2, 1)
        assert pulled["firstTimestamp"] == "2026-01-01T00:00:00Z"
        assert pulled["lastTimestamp"] == "2026-01-01T00:00:05Z"
        await events.close()


async def test_events_about_objects_outside_of_namespaces() -> None:
    async with still_cluster() as cluster:
        node = decode_as(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"}}, Node
        )
        events = ComponentEvents("kubelet", cluster.writer, cluster.clock)
        events.record(node, NORMAL, "Starting", "")
        (event,) = await _sent(cluster, 1)
        assert event["metadata"]["namespace"] == "default"
        await events.close()


async def test_too_many_events_are_dropped() -> None:
    async with still_cluster() as cluster:
        events = ComponentEvents("kubelet", cluster.writer, cluster.clock)
        for i in range(100):
            events.record(POD, NORMAL, f"Reason{i}", "")
        await _sent(cluster, 25)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(await cluster.all("events.v1.")) == 25
        await events.close()


class Refusing:
    """A writer that the server always refuses."""

    asked = 0

    async def create(self, *what: Any) -> Any:
        self.asked += 1
        raise ApiError(403, "no")


async def test_an_event_that_is_refused_is_lost_without_harm() -> None:
    writer: Any = Refusing()
    async with still_cluster() as cluster:
        events = ComponentEvents("kubelet", writer, cluster.clock)
        events.record(POD, NORMAL, "Pulled", "here")
        await asyncio.sleep(0)
        assert writer.asked == 1
        await events.close()


@pytest.mark.parametrize("records", [0, 3])
async def test_closing_drops_what_was_not_sent(records: int) -> None:
    async with still_cluster() as cluster:
        events = ComponentEvents("kubelet", cluster.writer, cluster.clock)
        for i in range(records):
            events.record(POD, NORMAL, f"Reason{i}", "")
        await events.close()
        assert await cluster.all("events.v1.") == []
