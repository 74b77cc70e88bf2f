"""The server-set fields of new and updated pods: phase, QoS class, conditions."""

# kube-apiserver: pkg/registry/core/pod/strategy.go, pkg/apis/core/v1/helper/qos/qos.go

from __future__ import annotations

import copy
from typing import Any

from mooring.api.pod_qos import qos_of
from mooring.apiserver.object_status import set_condition
from mooring.apiserver.server_state import ServerState
from mooring.controlplane.pod_defaults import GATED_CONDITION, label_requirements

Object = dict[str, Any]

_WRITTEN = ("managedFields", "resourceVersion")


def prepare_create(cluster: ServerState, pod: Object) -> None:
    """Set a new pod's status, and merge its matchLabelKeys into selectors."""
    status: Object = {"phase": "Pending", "qosClass": qos_class(pod["spec"])}
    pod["status"] = status
    _merge_label_keys(pod)
    if pod["spec"].get("schedulingGates"):
        set_condition(cluster, status, dict(GATED_CONDITION))


def _merge_label_keys(pod: Object) -> None:
    """Merge matchLabelKeys and mismatchLabelKeys into the selectors of affinity and spreading."""
    labels = pod["metadata"].get("labels") or {}
    spec = pod["spec"]
    for name in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(name) or {}
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        weighted = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = (one.get("podAffinityTerm") or {} for one in weighted)
        for term in (*required, *preferred):
            _merge(term, "matchLabelKeys", "In", labels)
            _merge(term, "mismatchLabelKeys", "NotIn", labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, "matchLabelKeys", "In", labels)


def _merge(term: Object, name: str, operator: str, labels: Object) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    if found := label_requirements(term.get(name) or (), operator, labels):
        selector.setdefault("matchExpressions", []).extend(found)


def prepare_status(pod: Object, old: Object) -> None:
    """Restore what a write of the status must not change."""
    if "ownerReferences" in old["metadata"]:
        pod["metadata"]["ownerReferences"] = old["metadata"]["ownerReferences"]
    else:
        pod["metadata"].pop("ownerReferences", None)
    before = old.get("status") or {}
    status = pod.setdefault("status", {})
    if not status.get("qosClass") and before.get("qosClass"):
        status["qosClass"] = before["qosClass"]


def prepare_part(pod: Object, old: Object, part: str) -> None:
    """Restore everything of a pod except what a write of the subresource may change."""
    # kube-apiserver: pkg/registry/core/pod/strategy.go, dropNonResizeUpdates and similar
    metadata = {key: pod["metadata"][key] for key in _WRITTEN if key in pod["metadata"]}
    given, spec = pod["spec"], copy.deepcopy(old["spec"])
    if part == "ephemeralcontainers":
        spec.pop("ephemeralContainers", None)
        if given.get("ephemeralContainers"):
            spec["ephemeralContainers"] = given["ephemeralContainers"]
    else:
        for field in ("containers", "initContainers"):
            there = given.get(field) or []
            if len(there) != len(spec.get(field) or ()):
                spec[field] = there
                continue
            for one, new in zip(spec.get(field) or (), there, strict=True):
                if one["name"] != new["name"]:
                    spec[field] = there
                    break
                one["resources"] = new.get("resources") or {}
    pod["metadata"] = old["metadata"] | metadata
    pod["spec"] = spec


def qos_class(spec: Object) -> str:
    """Return a pod's QoS class."""
    if (resources := spec.get("resources")) is not None:
        holders = [resources]
    else:
        containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        holders = [one.get("resources") or {} for one in containers]
    return qos_of((one.get("requests") or {}, one.get("limits") or {}) for one in holders)
