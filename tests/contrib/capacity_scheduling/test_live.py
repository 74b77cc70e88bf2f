"""Elastic quotas on a local cluster: two tenants borrow and take back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.contrib.live import PODS, cluster, elastic_quota, node, worker
from tests.local.clusters import Reader, nodes_of, plan

RED, BLUE = PODS.format("red"), PODS.format("blue")
SETTINGS: dict[str, Any] = {
    "plugins": ["CapacityScheduling"],
    "disabled": ["DefaultPreemption"],
}
FIRST = [
    *(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in ("red", "blue")
    ),
    node("node-1", 4),
    elastic_quota("red", "2", "4"),
    elastic_quota("blue", "2", "4"),
]


async def fill(reader: Reader) -> None:
    """Let one tenant use the whole cluster."""
    for number in range(4):
        await reader.post(RED, worker(f"r{number}", namespace="red"))
    await reader.until(RED, lambda pods: len(nodes_of(pods)) == 4)


async def test_a_tenant_borrows_and_the_other_takes_back(tmp_path: Path) -> None:
    async with cluster(tmp_path, *FIRST, **SETTINGS) as reader:
        await fill(reader)
        for number in range(2):
            await reader.post(BLUE, worker(f"b{number}", namespace="blue"))
        await reader.until(BLUE, lambda pods: len(nodes_of(pods)) == 2)
        await reader.until(RED, lambda pods: len(nodes_of(pods)) == 2)
        # More than it is guaranteed cannot be taken.
        await reader.post(BLUE, worker("b2", namespace="blue"))
        pods = await reader.until(BLUE, lambda pods: "PodScheduled" in str(status(pods, "b2")))
        assert nodes_of(pods).keys() == {"b0", "b1"}


def status(pods: Any, name: str) -> Any:
    """Return the conditions of a pod."""
    (pod,) = [pod for pod in pods["items"] if pod["metadata"]["name"] == name]
    return pod["status"].get("conditions")


async def test_the_usage_is_right_after_a_restart(tmp_path: Path) -> None:
    async with cluster(tmp_path, *FIRST, **SETTINGS) as reader:
        await fill(reader)
        await reader.cluster.replace_scheduler(plan(tmp_path / "config.yaml"))
        # Within its guarantee, the other tenant gets what it needs: usage was counted again.
        await reader.post(BLUE, worker("b0", namespace="blue"))
        await reader.until(BLUE, lambda pods: nodes_of(pods) == {"b0": "node-1"})
        await reader.until(RED, lambda pods: len(nodes_of(pods)) == 3)
