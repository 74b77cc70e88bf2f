"""A local cluster forgets deleted pods: the number of objects it keeps is limited.

The limits are lowered, so that a hundred pods reach them. All objects are counted by type, so that
any table that grows with the pods is found.
"""

from __future__ import annotations

import asyncio
import bisect
import gc
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mooring.apiserver import expiry, resource_store
from mooring.apiserver.resource_store import Gone, ResourceStore
from mooring.binding import broadcaster
from mooring.controllers import correlation
from mooring.framework import pod_info
from mooring.plugins.pod_topology_spread import default_selector
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import Reader, running

FEW = 20
WAVE = 40
#: How many rounds of pods may each leave more objects than all rounds before.
PATIENCE = 10
LIMITS = (
    (resource_store, "RING"),
    (resource_store, "RECENT"),
    (expiry, "MOST"),
    (correlation, "KEPT"),
    (broadcaster, "MAX_KNOWN"),
    (pod_info, "_MEMO_LIMIT"),
    (default_selector, "_MEMO_LIMIT"),
)


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, FEW)
    monkeypatch.setattr(expiry, "_EVERY", 0.05)


async def come_and_go(cluster: Reader, first: int, count: int) -> None:
    """Create pods, wait until they run, and delete them."""
    for begin in range(first, first + count, WAVE):
        names = [f"p{i}" for i in range(begin, begin + WAVE)]
        for name in names:
            await cluster.post(PODS, pod(name))
        await cluster.until(
            PODS, lambda pods: all(one["status"]["phase"] == "Running" for one in pods["items"])
        )
        for name in names:
            await cluster.client.request("DELETE", f"{PODS}/{name}", b'{"gracePeriodSeconds":0}')
        await cluster.until(PODS, lambda pods: not pods["items"])


def count_objects() -> Counter[str]:
    """Count containers, functions and Mooring's objects by type."""
    gc.collect()
    types = Counter(type(one) for one in gc.get_objects())
    rooms = ("builtins", "collections", "mooring")
    return Counter(
        {
            f"{found.__module__}.{found.__qualname__}": count
            for found, count in types.items()
            if str(found.__module__).partition(".")[0] in rooms
        }
    )


def past(store: ResourceStore, resource: str) -> int:
    """Return how many events of a resource the store keeps."""

    def is_kept(version: int) -> bool:
        try:
            store.since(resource, version)
        except Gone:
            return False
        return True

    first = bisect.bisect_left(range(store.version), True, key=is_kept)
    return len(store.since(resource, first))


async def fill_recent(cluster: Reader) -> None:
    """Write a small object until the store caches nothing else in decoded form.

    A pod consists of many more dicts than an Event. Without this, the count would depend on which
    of them were written last.
    """
    path = "/api/v1/namespaces/default/configmaps"
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    await cluster.post(path, settings)
    for turn in range(FEW):
        changed = msgspec.json.encode(settings | {"data": {"turn": str(turn)}})
        await cluster.client.request("PUT", f"{path}/settings", changed)
    await cluster.client.request("DELETE", f"{path}/settings")


async def settled(cluster: Reader) -> Counter[str]:
    """Count once nothing has been written for a moment."""
    kept, seen = cluster.cluster.server.cluster.store, -1
    while seen != kept.version:
        seen = kept.version
        await asyncio.sleep(0.1)
    await fill_recent(cluster)
    return count_objects()


async def test_pods_that_came_and_went_leave_nothing_that_grows(
    tmp_path: Path, low_limits: None
) -> None:
    pods = 3 * WAVE
    # What clusters of earlier tests have left.
    before = count_objects()
    # Few enough records of attempts that all are replaced in one round.
    async with running(tmp_path, nodes=12, explain_memory=2**16) as cluster:
        await come_and_go(cluster, 0, pods)
        most = await settled(cluster)
        # One object kept for every second pod adds about `pods` objects in every round. Caches that
        # are filling, and objects of work in progress, add objects in few rounds.
        for turn in range(PATIENCE):
            await come_and_go(cluster, (1 + 2 * turn) * pods, 2 * pods)
            after = await settled(cluster)
            grown = {name: count for name, count in (after - most).items() if count > pods // 2}
            if not grown:
                break
            most |= after
        kept = cluster.cluster.server.cluster.store
    assert not grown
    assert all(past(kept, resource) <= FEW for resource in kept.resources)
    assert kept.count("/events") <= FEW
    # All nodes share one table: a table per node would grow with the number of nodes.
    assert (after - before)["mooring.controllers.correlation._Similar"] <= 2 * FEW
