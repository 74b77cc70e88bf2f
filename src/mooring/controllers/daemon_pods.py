"""The pods of a DaemonSet: on which nodes they belong, and how they are restricted to them."""

# kubernetes: pkg/controller/daemon/util/daemonset_util.go, daemon_controller.go

from __future__ import annotations

from typing import Any

from mooring.api import (
    CustomResource,
    Node,
    Pod,
    decode_as,
    find_untolerated,
    required_node_affinity,
)
from mooring.controllers.revisions import HASH_LABEL
from mooring.controllers.writer import Object

NAME_FIELD = "metadata.name"
GENERATION_LABEL = "pod-template-generation"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_OF_HOST = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def tolerant(template: Object) -> Object:
    """Return the template with tolerations for the taints that reflect a node's own state."""
    spec = template["spec"]
    known = list(spec.get("tolerations") or ())
    wanted = (*_TOLERATED, _OF_HOST) if spec.get("hostNetwork") else _TOLERATED
    for key, effect in wanted:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in known:
            known.append(toleration)
    return {**template, "spec": {**spec, "tolerations": known}}


def place(template: Object, node: str, generation: str, digest: str) -> Object:
    """Return the template for the pod of one node."""
    metadata = template.get("metadata") or {}
    labels = {**metadata.get("labels", {}), HASH_LABEL: digest}
    if generation:
        labels[GENERATION_LABEL] = generation
    spec = {**template["spec"], "affinity": tie(template["spec"].get("affinity"), node)}
    return {"metadata": {**metadata, "labels": labels}, "spec": spec}


def tie(affinity: Object | None, node: str) -> Object:
    """Return the affinity with its required nodes replaced by this one node."""
    # Daemon pods go through the scheduler too, so they must fit no node but their own.
    field = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    wanted: dict[str, Any] = dict(affinity or {})
    on_nodes = dict(wanted.get("nodeAffinity") or {})
    on_nodes["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    return {**wanted, "nodeAffinity": on_nodes}


def target_of(pod: Pod) -> str:
    """Return the node that a daemon pod is on, or is meant for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields:
            if field.key == NAME_FIELD and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return ""


class DaemonPlacement:
    """The rules that decide on which nodes the pods of a DaemonSet belong."""

    def __init__(self, daemon_set: CustomResource) -> None:
        template = tolerant(daemon_set.raw["spec"]["template"])
        self._pod = decode_as({"spec": template["spec"]}, Pod)
        self._affinity = required_node_affinity(self._pod)

    def judge(self, node: Node) -> tuple[bool, bool]:
        """Return whether a pod should run on a node, and whether a running one may stay."""
        named = self._pod.spec.node_name
        if (named and named != node.metadata.name) or not self._affinity.matches(node):
            return False, False
        taints, tolerations = node.spec.taints, self._pod.spec.tolerations
        if find_untolerated(taints, tolerations, ("NoSchedule", "NoExecute")) is None:
            return True, True
        return False, find_untolerated(taints, tolerations, ("NoExecute",)) is None
