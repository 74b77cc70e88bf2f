"""Thousands of nodes that flap: NotReady and Ready, tainted and not, deleted and created again.

The scheduler must keep up without growing: each change of a node may help a pending pod, but pods
are tried again no more often than their backoffs allow, and nothing is kept of nodes that are gone.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from tests.adversary.simulated_cluster import AttackedCluster, attack, make_node
from tests.soak.object_store import NODES, PODS, Json

MANY = 5_000
#: Flaps that are compared with four times as many.
FEW_ROUNDS = 2
TAINTS = [
    {"key": "node.kubernetes.io/not-ready", "effect": effect}
    for effect in ("NoSchedule", "NoExecute")
]


def say(node: Json, *, ready: bool) -> Json:
    """Return a node as the node lifecycle controller would write it."""
    condition = {"type": "Ready", "status": "True" if ready else "Unknown"}
    status = {**node["status"], "conditions": [condition]}
    return {**node, "spec": {"taints": [] if ready else TAINTS}, "status": status}


async def lose_and_find(cluster: AttackedCluster) -> None:
    """Make every node NotReady, and Ready again."""
    for ready in (False, True):
        for node in cluster.store.list(NODES):
            cluster.store.replace(NODES, say(node, ready=ready))
        await asyncio.sleep(2.0)


async def delete_and_create(cluster: AttackedCluster) -> None:
    """Delete every second node, and create it again; the pods of the first stay."""
    names = [node["metadata"]["name"] for node in cluster.store.list(NODES)[::2]]
    for name in names:
        cluster.server.delete(NODES, name)
    await asyncio.sleep(2.0)
    for name in names:
        cluster.store.create(NODES, make_node(name, 1))
    await asyncio.sleep(2.0)


async def rename(cluster: AttackedCluster) -> None:
    """Replace every second node, with its pods, by one of another name."""
    nodes = cluster.store.list(NODES)[::2]
    gone = {node["metadata"]["name"] for node in nodes}
    for pod in cluster.store.list(PODS):
        if pod["spec"].get("nodeName") in gone:
            cluster.store.remove(PODS, pod)
    for node in nodes:
        cluster.store.remove(NODES, node)
        cluster.store.create(NODES, make_node(f"{cluster.store.version}", 1))
    await asyncio.sleep(4.0)


async def do_all_at_random(cluster: AttackedCluster) -> None:
    """Do one of these to each node, in any order, so that changes of all kinds come together."""
    random = Random(cluster.store.version)
    nodes = random.sample(nodes := cluster.store.list(NODES), len(nodes))
    for number, node in enumerate(nodes):
        name = node["metadata"]["name"]
        if number % 3 == 0:
            cluster.store.remove(NODES, node)
            cluster.store.create(NODES, make_node(name, 1))
        else:
            cluster.store.replace(NODES, say(node, ready=False))
            cluster.store.replace(NODES, say(cluster.store.get(NODES, name), ready=True))
        if number % 500 == 0:
            await asyncio.sleep(0.1)
    await asyncio.sleep(4.0)


Flap = Callable[[AttackedCluster], Awaitable[None]]
FLAPS = [lose_and_find, delete_and_create, rename, do_all_at_random]


@pytest.mark.parametrize("flap", FLAPS, ids=lambda flap: flap.__name__)
def test_pods_are_bound_once_while_all_nodes_flap(flap: Flap) -> None:
    attempts: list[int] = []

    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(MANY, 1)
        cluster.add_pods(100)
        # No node has room for these.
        cluster.add_pods(20, "large", cpu="2")
        cluster.start()
        await asyncio.sleep(20.0)
        scheduler = cluster.replicas[0].scheduler
        assert scheduler is not None
        for number in range(FEW_ROUNDS):
            cluster.add_pods(100, f"round-{number}")
            before = scheduler.cycles
            await flap(cluster)
            attempts.append(scheduler.cycles - before)
        await asyncio.sleep(60.0)
        pending = [pod for pod in cluster.store.list(PODS) if not pod["spec"].get("nodeName")]
        assert {pod["metadata"]["name"].split("-")[0] for pod in pending} == {"large"}
        for pod in pending:
            (condition,) = pod["status"]["conditions"]
            assert condition["reason"] == "Unschedulable"
            assert condition["message"].startswith(f"0/{MANY} nodes are available: ")
            assert "Insufficient cpu" in condition["message"]

    log = attack(scenario)
    # Large pods are tried when their backoffs end, at least a second after another: not for each
    # of the changes, of which there are 5,000 to 10,000.
    assert max(attempts) <= 100 + 20 * 5
    assert len(log.lines) < 10


#: The rounds after which memory is measured: it has reached its size after the first of them.
ROUNDS = (4, 20)
FEW = 200
#: Blocks of memory for each node that flapped: a node takes more than 30, and the simulation itself
#: remembers a few for each name.
MOST_BLOCKS = 10


@pytest.mark.parametrize("flap", FLAPS, ids=lambda flap: flap.__name__)
def test_memory_does_not_grow_with_flaps(flap: Flap) -> None:
    blocks: list[int] = []

    async def scenario(cluster: AttackedCluster) -> None:
        cluster.add_nodes(FEW, 1)
        cluster.add_pods(20)
        cluster.add_pods(5, "large", cpu="2")
        cluster.start()
        await asyncio.sleep(20.0)
        for number in range(1, ROUNDS[-1] + 1):
            await flap(cluster)
            if number in ROUNDS:
                # Series of Events end after six minutes.
                await asyncio.sleep(800.0)
                cluster.server.take_requests()
                cluster.store.drop_changes()
                gc.collect()
                blocks.append(sys.getallocatedblocks())

    attack(scenario)
    before, after = blocks
    assert after - before <= MOST_BLOCKS * FEW / 2 * (ROUNDS[1] - ROUNDS[0])
