"""Evictions by taints."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.api.kinds import decode_as
from mooring.controllers.taint_eviction import TaintEvictionController, tolerated_seconds
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import Workbench, template


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([{"key": "a", "operator": "Exists", "effect": "NoExecute"}], None),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": 300}], 300.0),
        ([{"key": "a", "operator": "Exists", "tolerationSeconds": -1}], 0.0),
        ([{"operator": "Exists"}, {"key": "a", "operator": "Exists", "tolerationSeconds": 5}], 5.0),
    ],
    ids=["not at all", "forever", "for a while", "for less than nothing", "for the shortest"],
)
def test_a_taint_is_tolerated_for_so_long(tolerations: Any, seconds: float | None) -> None:
    pod = decode_as({"spec": {"tolerations": tolerations}}, Pod)
    node = decode_as({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, Node)
    assert tolerated_seconds(pod, node.spec.taints) == seconds


async def test_a_pod_leaves_a_node_that_it_does_not_tolerate(workbench: Workbench) -> None:
    for name, tolerations in (("stays", [{"operator": "Exists"}]), ("leaves", [])):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        spec = template(tolerations=tolerations)["spec"]
        await workbench.create(Pod, {**pod, "spec": spec})
    await workbench.until(lambda: len(workbench.pods()) == 2, "both pods")
    node = workbench.pods()[0].spec.node_name
    spec = {"taints": [{"key": "evil", "effect": "NoExecute"}]}
    await workbench.patch(Node, node, {"spec": spec}, namespace="")
    await workbench.until(lambda: workbench.get(Pod, "leaves") is None, "the eviction")
    assert [pod.metadata.name for pod in workbench.pods()] == ["stays"]


SINCE = "2026-01-01T00:00:00Z"


async def _placed(cluster: StillCluster, *tolerations: dict[str, Any], **taint: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    taints = [{"key": "evil", "effect": "NoExecute", "timeAdded": SINCE, **taint}]
    await cluster.create(Node, {**node, "spec": {"taints": taints}})
    spec = template(tolerations=list(tolerations), nodeName="n")["spec"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    await cluster.create(Pod, pod)


async def _judged(cluster: StillCluster) -> tuple[float | None, bool]:
    """Return when to look again, and whether the pod is being deleted."""
    controller = TaintEvictionController(cluster.context)
    await cluster.sync()
    again = await controller.reconcile(("default", "p"))
    pod = await cluster.get(Pod, "p")
    await controller.close()
    return again, pod is None or "deletionTimestamp" in pod["metadata"]


async def test_a_pod_that_does_not_tolerate_a_taint_goes_at_once() -> None:
    async with still_cluster() as cluster:
        await _placed(cluster)
        assert await _judged(cluster) == (None, True)
        pod = await cluster.get(Pod, "p")
        assert pod is not None
        (condition,) = [
            one for one in pod["status"]["conditions"] if one["type"] == "DisruptionTarget"
        ]
        assert condition["reason"] == "DeletionByTaintManager"


async def test_a_pod_stays_for_the_time_that_it_tolerates() -> None:
    async with still_cluster() as cluster:
        await _placed(
            cluster,
            {"key": "evil", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        )
        assert await _judged(cluster) == (60.0, False)
        cluster.advance(59)
        assert await _judged(cluster) == (1.0, False)
        cluster.advance(1)
        assert await _judged(cluster) == (None, True)


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
async def test_other_effects_do_not_evict(effect: str) -> None:
    async with still_cluster() as cluster:
        await _placed(cluster, effect=effect)
        assert await _judged(cluster) == (None, False)


async def test_a_pod_that_tolerates_a_taint_stays() -> None:
    async with still_cluster() as cluster:
        await _placed(cluster, {"operator": "Exists"})
        assert await _judged(cluster) == (None, False)
        assert await TaintEvictionController(cluster.context).reconcile(("default", "x")) is None
