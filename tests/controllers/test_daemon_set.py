"""DaemonSets, against a real kube-apiserver and Mooring's."""

from __future__ import annotations

from typing import Any

from mooring.api import DaemonSet, Node
from mooring.controllers.controlled_kinds import DAEMON_SETS
from mooring.controllers.daemon_pods import target_of
from mooring.kubelet.node_status import manifest
from tests.support.controllers import Workbench, template, workload

CAPACITY = {"cpu": "1", "memory": "1Gi", "pods": "10"}


def status(bench: Workbench, field: str) -> Any:
    found = bench.raw(DaemonSet, "agent")
    return found.get(f"status.{field}", 0) if found is not None else None


def hosts(bench: Workbench) -> list[str]:
    return sorted(pod.spec.node_name for pod in bench.pods())


async def test_every_node_has_a_pod(workbench: Workbench) -> None:
    await workbench.create(DAEMON_SETS, workload("DaemonSet", "agent"))
    await workbench.until(lambda: status(workbench, "numberAvailable") == 2, "two pods")
    assert hosts(workbench) == ["node-0", "node-1"]
    pod = workbench.pods()[0]
    terms = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution  # type: ignore[union-attr]
    (field,) = terms.node_selector_terms[0].match_fields  # type: ignore[union-attr]
    assert (field.key, field.values) == ("metadata.name", (target_of(pod),))
    await workbench.create(Node, {**manifest("late", CAPACITY), "metadata": {
        **manifest("late", CAPACITY)["metadata"], "namespace": ""}})  # fmt: skip
    await workbench.until(lambda: hosts(workbench) == ["late", "node-0", "node-1"], "a third")


async def test_pods_run_where_labels_and_taints_allow(workbench: Workbench) -> None:
    own = [{"key": "mine", "effect": "NoSchedule"}]
    await workbench.patch(
        Node, "node-0", {"metadata": {"labels": {"disk": "ssd"}}, "spec": {"taints": own}},
        namespace="",
    )  # fmt: skip
    await workbench.patch(
        Node, "node-1", {"metadata": {"labels": {"disk": "ssd"}}, "spec": {"unschedulable": True}},
        namespace="",
    )  # fmt: skip
    pods = template(nodeSelector={"disk": "ssd"})
    await workbench.create(DAEMON_SETS, workload("DaemonSet", "agent", template=pods))
    # Daemon pods run on cordoned nodes too.
    await workbench.until(lambda: hosts(workbench) == ["node-1"], "one pod")
    await workbench.patch(Node, "node-0", {"spec": {"taints": None}}, namespace="")
    await workbench.until(lambda: hosts(workbench) == ["node-0", "node-1"], "both")
    labels = {"metadata": {"labels": {"disk": None}}}
    await workbench.patch(Node, "node-1", labels, namespace="")
    await workbench.until(lambda: hosts(workbench) == ["node-0"], "one again")


async def test_a_new_template_rolls_node_by_node(workbench: Workbench) -> None:
    await workbench.create(DAEMON_SETS, workload("DaemonSet", "agent"))
    await workbench.until(lambda: status(workbench, "numberAvailable") == 2, "two pods")
    await workbench.patch(DAEMON_SETS, "agent", {"spec": {"template": template("image:2")}})
    least = 2

    def renewed() -> bool:
        nonlocal least
        least = min(least, len(workbench.pods()))
        images = {pod.spec.containers[0].image for pod in workbench.pods()}
        return images == {"image:2"} and bool(status(workbench, "updatedNumberScheduled") == 2)

    await workbench.until(renewed, "the new pods")
    assert least == 1
    digests = {pod.metadata.labels["controller-revision-hash"] for pod in workbench.pods()}
    assert len(digests) == 1
