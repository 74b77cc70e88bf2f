"""The responses of extenders.

# k8s.io/kube-scheduler: extender/v1/types.go
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mooring.errors import ExtenderError, cut_text
from mooring.extenders.go_json import GoValue, read

_FILTER_RESULT = "v1.ExtenderFilterResult"
_HOST_PRIORITY_LIST = "v1.HostPriorityList"
_HOST_PRIORITY = "v1.HostPriority"
_PREEMPTION_RESULT = "v1.ExtenderPreemptionResult"
_BINDING_RESULT = "v1.ExtenderBindingResult"


class FilterAnswer(msgspec.Struct):
    """The nodes that pass, as whole nodes (`nodes`, only their names) or names; None if absent."""

    nodes: tuple[str, ...] | None = None
    node_names: tuple[str, ...] | None = None
    failed: Mapping[str, str] = {}
    failed_and_unresolvable: Mapping[str, str] = {}
    error: str = ""


class MetaVictims(msgspec.Struct):
    """The pods to evict from a node, by uid."""

    uids: tuple[str, ...] = ()
    pdb_violations: int = 0


def read_filter(body: bytes) -> FilterAnswer:
    """Decode the response to the filter verb."""
    answer = FilterAnswer()
    names = ("Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error")
    for name, value in read(body).fields(_FILTER_RESULT, *names):
        if name == "Nodes":
            answer.nodes = None if value.is_null else _node_names(value)
        elif name == "NodeNames":
            found = tuple(item.text() for item in value.items("[]string"))
            answer.node_names = None if value.is_null else found
        elif name == "FailedNodes":
            answer.failed = _reasons(value)
        elif name == "FailedAndUnresolvableNodes":
            answer.failed_and_unresolvable = _reasons(value)
        else:
            answer.error = value.text()
    return answer


def _node_names(value: GoValue) -> tuple[str, ...]:
    """Return the names in a v1.NodeList; the rest of the nodes is not needed."""
    found: list[str] = []
    for _, items in value.fields("v1.NodeList", "items"):
        found = [_node_name(item) for item in items.items("[]v1.Node")]
    return tuple(found)


def _node_name(node: GoValue) -> str:
    found = ""
    for _, metadata in node.fields("v1.Node", "metadata"):
        for _, name in metadata.fields("v1.ObjectMeta", "name"):
            found = name.text()
    return found


def _reasons(value: GoValue) -> dict[str, str]:
    return {name: cut_text(reason.text()) for name, reason in value.entries("v1.FailedNodesMap")}


def read_priorities(body: bytes) -> dict[str, int]:
    """Decode the response to the prioritize verb; several scores for one host are added up."""
    scores: dict[str, int] = {}
    for item in read(body).items(_HOST_PRIORITY_LIST):
        host, score = "", 0
        for name, value in item.fields(_HOST_PRIORITY, "Host", "Score"):
            if name == "Host":
                host = value.text()
            else:
                score = value.int64()
        scores[host] = _wrap(scores.get(host, 0) + score)
    return scores


def _wrap(score: int) -> int:
    """Wrap around at the limits of int64, as Go's addition does."""
    return (score + 2**63) % 2**64 - 2**63


def read_preemption(body: bytes) -> dict[str, MetaVictims]:
    """Decode the response to the preempt verb, by node name."""
    field = "NodeNameToMetaVictims"
    victims: dict[str, MetaVictims] = {}
    for _, by_node in read(body).fields(_PREEMPTION_RESULT, field):
        for node_name, value in by_node.entries("map[string]*v1.MetaVictims"):
            if value.is_null:
                # kube-scheduler panics here.
                raise ExtenderError(f"{field} has null for node {node_name}, expected victims")
            victims[node_name] = _meta_victims(value, node_name)
    return victims


def _meta_victims(value: GoValue, node_name: str) -> MetaVictims:
    victims = MetaVictims()
    for name, field in value.fields("v1.MetaVictims", "Pods", "NumPDBViolations"):
        if name == "NumPDBViolations":
            victims.pdb_violations = field.int64()
            continue
        victims.uids = tuple(_uid(pod, node_name) for pod in field.items("[]*v1.MetaPod"))
    return victims


def _uid(pod: GoValue, node_name: str) -> str:
    if pod.is_null:
        # kube-scheduler panics here.
        raise ExtenderError(f"Pods has null for node {node_name}, expected a pod's UID")
    uid = ""
    for _, value in pod.fields("v1.MetaPod", "UID"):
        uid = value.text()
    return uid


def read_binding(body: bytes) -> str:
    """Decode the response to the bind verb: why the pod could not be bound, or ""."""
    error = ""
    for _, value in read(body).fields(_BINDING_RESULT, "Error"):
        error = value.text()
    return error
