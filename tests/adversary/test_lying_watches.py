"""Watches that lie: duplicates, another order, claims about what was never sent, other objects.

The API server's objects stay true, and so do its lists: a scheduler that notices a lie, or whose
watch ends, finds the truth again. What kube-scheduler would believe forever is noted at the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from mooring.controlplane.strategic_patch import patched
from tests.adversary.simulated_cluster import (
    NAMESPACE,
    AttackedCluster,
    attack,
    make_node,
    make_pod,
)
from tests.soak.object_store import ADDED, DELETED, MODIFIED, NODES, PODS, Json
from tests.soak.watch_stream import event_line

#: Seconds in which everything that can be bound is bound.
WORK_SECONDS = 30.0
#: Seconds in which a scheduler lists everything again and works off what it finds.
RELIST_SECONDS = 150.0
#: A cluster in which 12 pods have a place, and others must wait.
NODES_NUMBER, CPU = 3, 4


async def lie_through(
    cluster: AttackedCluster, tell: Callable[[AttackedCluster], Awaitable[None]]
) -> None:
    """Start a scheduler, lie while it works, end the lies and let it work again."""
    cluster.add_nodes(NODES_NUMBER, CPU)
    cluster.add_pods(8)
    cluster.start()
    await asyncio.sleep(5.0)
    await tell(cluster)
    cluster.add_pods(6, "later")
    await asyncio.sleep(WORK_SECONDS)
    cluster.server.be_honest()
    await asyncio.sleep(RELIST_SECONDS)
    assert cluster.bound == NODES_NUMBER * CPU or cluster.must_be_believed


def told(obj: Json, **meta: str) -> Json:
    """Return an object with other metadata."""
    return {**obj, "metadata": {**obj["metadata"], **meta}}


def history(cluster: AttackedCluster, collection: str) -> list[bytes]:
    """Return all events of a collection since the beginning."""
    return [event_line(change.type, change.object) for change in cluster.store.since(collection, 0)]


async def repeat_everything(cluster: AttackedCluster) -> None:
    """Send each event three times, and later the whole history again."""
    cluster.server.lie = lambda collection, lines: b"".join(
        line * 3 for line in lines.splitlines(keepends=True)
    )
    cluster.add_pods(2, "thrice")
    await asyncio.sleep(5.0)
    for collection in (PODS, NODES):
        cluster.server.say(collection, *history(cluster, collection))


async def shuffle(cluster: AttackedCluster) -> None:
    """Send events in another order: what comes together, and the history."""
    random = Random(0)

    def reorder(collection: str, lines: bytes) -> bytes:
        return b"".join(random.sample(events := lines.splitlines(keepends=True), len(events)))

    cluster.server.lie = reorder
    for index in range(4):
        cluster.store.create(PODS, make_pod(f"new-{index}"))
        cluster.server.delete(PODS, f"new-{index}", NAMESPACE)
    for collection in (PODS, NODES):
        lines = history(cluster, collection)
        cluster.server.say(collection, *random.sample(lines, len(lines)))


async def claim_a_later_version(cluster: AttackedCluster) -> None:
    """Send bookmarks that are ahead of what was sent, some of them far ahead or no numbers."""
    for ahead in (1, 50, 10**6, 10**30):
        version = cluster.store.version + ahead
        mark = {"metadata": {"resourceVersion": str(version)}}
        for collection in (PODS, NODES):
            cluster.server.say(collection, event_line("BOOKMARK", mark))
        await asyncio.sleep(3.0)
        cluster.add_pods(1, f"after-{ahead}")
        await asyncio.sleep(3.0)
    for version in ("", "x", "-1", "9" * 10_000):
        mark = {"metadata": {"resourceVersion": version}}
        cluster.server.say(PODS, event_line("BOOKMARK", mark))
        await asyncio.sleep(1.0)


async def delete_strangers(cluster: AttackedCluster) -> None:
    """Delete objects that never were, and objects with another uid."""
    for number in range(50):
        pod = told(make_pod(f"nobody-{number}"), uid=f"u-{number}", resourceVersion="999999")
        node = told(make_node(f"nowhere-{number}"), uid=f"n-{number}", resourceVersion="999999")
        on = {**pod, "spec": {**pod["spec"], "nodeName": "node-0"}}
        cluster.server.say(PODS, event_line(DELETED, pod), event_line(DELETED, on))
        cluster.server.say(NODES, event_line(DELETED, node))
    for pod in cluster.store.list(PODS):
        stranger = told(pod, uid="another", resourceVersion="999999")
        cluster.server.say(PODS, event_line(DELETED, stranger))


async def delete_what_is_there(cluster: AttackedCluster) -> None:
    """Delete every node and every pod of the cluster, which all stay."""
    for collection in (NODES, PODS):
        for obj in cluster.store.list(collection):
            cluster.server.say(collection, event_line(DELETED, obj))


async def send_other_kinds(cluster: AttackedCluster) -> None:
    """Send nodes as pods and pods as nodes, statuses, lists, and nothing."""
    later = {"resourceVersion": str(cluster.store.version + 1)}
    node, pod = told(make_node("node-9"), **later), told(make_pod("pod-99"), **later)
    for type_ in (ADDED, MODIFIED, DELETED):
        cluster.server.say(PODS, *[event_line(type_, node)] * 500)
        cluster.server.say(NODES, *[event_line(type_, pod)] * 500)
    for body in ({}, {"kind": "Status"}, {"kind": "PodList", "items": [pod]}, {"kind": 5}):
        for collection in (PODS, NODES):
            cluster.server.say(collection, *[event_line(ADDED, body)] * 20)
    unknown = [event_line(type_, pod) for type_ in ("", "REPLACED", "x" * 10_000)]
    cluster.server.say(PODS, *unknown * 500)


async def go_back(cluster: AttackedCluster) -> None:
    """Send the first state of every pod and node, after their latest."""
    for collection in (PODS, NODES):
        for obj in cluster.store.list(collection):
            first = told(obj, resourceVersion="1")
            if collection == PODS:
                spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
                first = {**first, "spec": spec, "status": {"phase": "Pending"}}
            cluster.server.say(collection, event_line(MODIFIED, first))


async def move_pods(cluster: AttackedCluster) -> None:
    """Say that bound pods are elsewhere, pending or finished. (kube-scheduler ends its process.)"""
    cluster.must_be_believed = True
    ahead = str(cluster.store.version + 1)
    for number, pod in enumerate(cluster.store.list(PODS)):
        moved = told(pod, resourceVersion=ahead)
        change: Json = (
            {"spec": {"nodeName": "node-elsewhere"}},
            {"spec": {"nodeName": None}},
            {"status": {"phase": "Succeeded"}},
            {"metadata": {"uid": f"new-{number}"}},
        )[number % 4]
        cluster.server.say(PODS, event_line(MODIFIED, patched(moved, change)))


LIES = [
    repeat_everything,
    shuffle,
    claim_a_later_version,
    delete_strangers,
    delete_what_is_there,
    send_other_kinds,
    go_back,
    move_pods,
]


@pytest.mark.parametrize("tell", LIES, ids=lambda tell: tell.__name__)
def test_lies_neither_overcommit_a_node_nor_lose_a_pod(
    tell: Callable[[AttackedCluster], Awaitable[None]],
) -> None:
    log = attack(lambda cluster: lie_through(cluster, tell))
    assert len(log.lines) < 100
