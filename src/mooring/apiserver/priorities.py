"""Priorities: what the admission plugin Priority does with classes, pods and pod groups."""

# kube-apiserver: plugin/pkg/admission/priority/admission.go

from __future__ import annotations

from typing import Any

from mooring.apiserver import refusals
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.pod_groups import PREEMPTION_POLICY
from mooring.controlplane.priority_classes import (
    PREEMPT_LOWER_PRIORITY,
    default_priority_class,
    no_priority_class,
)

Object = dict[str, Any]

PRIORITY_CLASSES = "scheduling.k8s.io/priorityclasses"
_GROUP = "scheduling.k8s.io"


def set_pod_priority(cluster: ServerState, pod: Object) -> None:
    """Set a new pod's priority and preemption policy from its class; refuse other values."""
    spec = pod["spec"]
    value, policy = _resolve(cluster, "pods", "", pod)
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"the integer value of priority ({given}) must not be provided in pod spec; priority "
            f"admission controller computed {value} from the given PriorityClass name"
        )
        raise _forbidden("pods", "", pod, why)
    spec["priority"] = value
    _set_policy("pods", "", pod, policy, "pod")


def set_group_priority(cluster: ServerState, resource: str, group: Object) -> None:
    """Set the priority of a new pod group, or composite pod group, from its class."""
    spec = group["spec"]
    what = "composite pod group" if resource == "compositepodgroups" else "pod group"
    value, policy = _resolve(cluster, resource, _GROUP, group)
    given = spec.get("priority")
    if given is not None and given != value:
        why = (
            f"priority set in the {what} ({given}) must match the priority computed ({value}) "
            "based on the priority class set in the spec"
        )
        raise _forbidden(resource, _GROUP, group, why)
    spec["priority"] = value
    if PREEMPTION_POLICY in cluster.features:
        _set_policy(resource, _GROUP, group, policy, what)


def check_default_class(cluster: ServerState, obj: Object) -> None:
    """Refuse a second priority class that is the default."""
    if not obj.get("globalDefault"):
        return
    name = obj["metadata"].get("name", "")
    for stored in cluster.store.items(PRIORITY_CLASSES):
        other = stored.object["metadata"]["name"]
        if stored.object.get("globalDefault") and other != name:
            why = f"PriorityClass {other} is already marked as default. Only one default can exist"
            raise refusals.forbidden("priorityclasses", _GROUP, name, why)


def _resolve(cluster: ServerState, resource: str, group: str, obj: Object) -> tuple[int, str]:
    """Return the priority and the preemption policy of an object's class, and set its name."""
    spec = obj["spec"]
    name = spec.get("priorityClassName") or ""
    found = _priority_class(cluster, name)
    if found is None:
        if name:
            raise _forbidden(resource, group, obj, no_priority_class(name))
        return 0, PREEMPT_LOWER_PRIORITY
    spec["priorityClassName"] = found["metadata"]["name"]
    return found.get("value", 0), found.get("preemptionPolicy") or PREEMPT_LOWER_PRIORITY


def _set_policy(resource: str, group: str, obj: Object, policy: str, what: str) -> None:
    spec = obj["spec"]
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        why = (
            f"the string value of PreemptionPolicy ({given}) must not be provided in {what} spec; "
            f"priority admission controller computed {policy} from the given PriorityClass name"
        )
        raise _forbidden(resource, group, obj, why)
    spec["preemptionPolicy"] = policy


def _priority_class(cluster: ServerState, name: str) -> Object | None:
    if name:
        return cluster.lookup(PRIORITY_CLASSES, "", name)
    every = (stored.object for stored in cluster.store.items(PRIORITY_CLASSES))
    return default_priority_class(
        (one, bool(one.get("globalDefault")), one.get("value", 0)) for one in every
    )


def _forbidden(resource: str, group: str, obj: Object, why: str) -> Refusal:
    return refusals.forbidden(resource, group, obj["metadata"].get("name") or "", why)
