"""Nodes with NUMA cells and pods for them, from a source of random numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from mooring.api import Node, NodeResourceTopology, Pod, decode_as
from mooring.testing import make_node, make_pod

GPU = "example.com/gpu"
SINGLE = "single-numa-node"


def topology(
    name: str,
    cells: Sequence[dict[str, Any]],
    *,
    policy: str = SINGLE,
    scope: str = "pod",
    ids: Sequence[int] | None = None,
    costs: Sequence[Sequence[int]] | None = None,
    attributes: dict[str, str] | None = None,
) -> NodeResourceTopology:
    """Return the object of a node; each cell is what it has available."""
    numbers = range(len(cells)) if ids is None else ids
    said = {"topologyManagerPolicy": policy, "topologyManagerScope": scope, **(attributes or {})}
    return decode_as(
        {
            "metadata": {"name": name},
            "attributes": [{"name": key, "value": value} for key, value in said.items()],
            "zones": [
                {
                    "name": f"node-{number}",
                    "type": "Node",
                    "costs": []
                    if costs is None
                    else [
                        {"name": f"node-{other}", "value": value}
                        for other, value in zip(numbers, costs[row], strict=True)
                    ],
                    "resources": [
                        {"name": key, "capacity": value, "allocatable": value, "available": value}
                        for key, value in cell.items()
                    ],
                }
                for row, (number, cell) in enumerate(zip(numbers, cells, strict=True))
            ],
        },
        NodeResourceTopology,
    )


def random_topology(rng: random.Random, name: str) -> NodeResourceTopology:
    """Return an object with one to four cells, some of them unusual."""
    count = rng.randint(1, 4)
    cells = []
    for _ in range(count):
        cell: dict[str, Any] = {"cpu": str(rng.randint(0, 8)), "memory": f"{rng.randint(0, 8)}Gi"}
        if rng.random() < 0.3:
            cell["cpu"] = rng.choice(("1500m", "3500m", "1500u", "-2"))
        if rng.random() < 0.6:
            cell[GPU] = str(rng.randint(0, 3))
        if rng.random() < 0.2:
            cell["hugepages-2Mi"] = "64Mi"
        cells.append(cell)
    ids = list(range(count))
    if rng.random() < 0.2:
        ids = rng.choice((ids[::-1], [one + 1 for one in ids], [0] * count))
    costs = [[10 if a == b else rng.choice((11, 12, 20)) for b in ids] for a in ids]
    return topology(
        name,
        cells,
        policy=rng.choice((SINGLE, SINGLE, SINGLE, "restricted")),
        scope=rng.choice(("pod", "container")),
        ids=ids,
        costs=costs if rng.random() < 0.7 else None,
        attributes=rng.choice(({}, {"topologyManagerMaxNUMANodes": "4"})),
    )


def random_node(rng: random.Random, name: str) -> Node:
    """Return a node, with or without devices."""
    resources = {GPU: 4} if rng.random() < 0.7 else None
    return make_node(name, cpu=64, memory="64Gi", resources=resources)


def random_pod(rng: random.Random, name: str) -> Pod:
    """Return a pod with up to two init containers and up to three containers."""
    guaranteed = rng.random() < 0.7
    init = [_container(rng, f"i{index}", guaranteed) for index in range(rng.choice((0, 0, 1, 2)))]
    for one in init:
        if rng.random() < 0.5:
            one["restartPolicy"] = "Always"
    containers = [_container(rng, f"c{index}", guaranteed) for index in range(rng.randint(1, 3))]
    overhead = {"overhead": {"cpu": "250m"}} if rng.random() < 0.2 else {}
    return make_pod(
        name,
        namespace=rng.choice(("default", "other")),
        spec={"initContainers": init, "containers": containers, **overhead},
    )


def _container(rng: random.Random, name: str, guaranteed: bool) -> dict[str, Any]:
    requests: dict[str, Any] = {}
    if guaranteed or rng.random() < 0.5:
        cpu = rng.choice(("0", "1", "2", "4", "1500m", "500u"))
        requests = {"cpu": "1" if guaranteed and cpu == "0" else cpu, "memory": "1Gi"}
    if rng.random() < 0.4:
        requests[GPU] = rng.choice(("0", "1", "2"))
    if rng.random() < 0.1:
        requests["ephemeral-storage"] = "1Gi"
    if rng.random() < 0.1:
        requests["hugepages-2Mi"] = "4Mi"
    limits = requests if guaranteed else {}
    return {"name": name, "image": "app", "resources": {"requests": requests, "limits": limits}}
