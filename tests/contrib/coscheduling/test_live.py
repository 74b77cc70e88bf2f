"""Gangs on a local cluster: the API server, the scheduler and fake nodes in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.contrib.live import PODS, cluster, node, pod_group, worker
from tests.local.clusters import Reader, nodes_of

MINE = PODS.format("default")
SETTINGS: dict[str, Any] = {
    "plugins": ["Coscheduling"],
    "disabled": ["PrioritySort", "DefaultPreemption"],
}


def refused(pods: Any, names: set[str]) -> bool:
    """Return whether the scheduler has refused all of these pods."""
    conditions = {
        pod["metadata"]["name"]
        for pod in pods["items"]
        for one in pod["status"].get("conditions", ())
        if one["type"] == "PodScheduled" and one["status"] == "False"
    }
    return names <= conditions


async def test_a_gang_waits_as_a_whole_and_starts_as_a_whole(tmp_path: Path) -> None:
    gang = {f"m{number}" for number in range(8)}
    first = [node("node-1", 8), pod_group("g", 8), *(worker(f"old{number}") for number in range(3))]
    async with cluster(tmp_path, *first, **SETTINGS) as reader:
        await reader.until(MINE, lambda pods: len(nodes_of(pods)) == 3)
        for name in sorted(gang):
            await reader.post(MINE, worker(name, "g"))
        pods = await reader.until(MINE, lambda pods: refused(pods, gang))
        assert gang.isdisjoint(nodes_of(pods))
        for number in range(3):
            await reader.client.request("DELETE", f"{MINE}/old{number}")
        await reader.until(MINE, lambda pods: gang <= nodes_of(pods).keys())


async def test_two_gangs_run_one_after_the_other(tmp_path: Path) -> None:
    gangs = {name: {f"{name}{number}" for number in range(8)} for name in ("red", "blue")}
    first = [node("node-1", 8), *(pod_group(name, 8) for name in gangs)]
    async with cluster(tmp_path, *first, **SETTINGS) as reader:
        for number in range(8):
            for name in gangs:
                await reader.post(MINE, worker(f"{name}{number}", name))
        done = await _finish_one(reader, gangs)
        (other,) = set(gangs) - {done}
        await reader.until(MINE, lambda pods: gangs[other] <= nodes_of(pods).keys())


async def _finish_one(reader: Reader, gangs: dict[str, set[str]]) -> str:
    """Wait until one gang runs, remove its pods, and return its name."""
    pods = await reader.until(
        MINE, lambda pods: any(names <= nodes_of(pods).keys() for names in gangs.values())
    )
    placed = nodes_of(pods).keys()
    (running,) = [name for name, names in gangs.items() if names <= placed]
    assert placed == gangs[running]
    for name in gangs[running]:
        await reader.client.request("DELETE", f"{MINE}/{name}")
    return running


async def test_a_group_that_comes_after_its_pods_is_found(tmp_path: Path) -> None:
    async with cluster(tmp_path, node("node-1", 8), **SETTINGS) as reader:
        for name in ("a", "b"):
            await reader.post(MINE, worker(name, "g"))
        await reader.until(MINE, lambda pods: refused(pods, {"a", "b"}))
        groups = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
        await reader.post(groups, pod_group("g", 2))
        await reader.until(MINE, lambda pods: nodes_of(pods) == {"a": "node-1", "b": "node-1"})
