"""Fields whose feature gates may be off: they are dropped, unless the stored object has them."""

# kube-apiserver: pkg/registry/{scheduling,resource}/*/strategy.go, pkg/api/pod/util.go
# (dropDisabled…), pkg/apis/scheduling/{v1beta1,v1alpha3}/defaults.go,
# pkg/api/resourceclaimspec/util.go

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.pod_groups import (
    CLAIMS,
    COMPOSITE,
    GENERIC_WORKLOAD,
    PREEMPTION_POLICY,
    TOPOLOGY,
)
from mooring.controlplane.priority_classes import PREEMPT_LOWER_PRIORITY

Object = dict[str, Any]

POD_GROUPS = "scheduling.k8s.io/podgroups"
COMPOSITE_POD_GROUPS = "scheduling.k8s.io/compositepodgroups"
WORKLOADS = "scheduling.k8s.io/workloads"
RESOURCE_SLICES = "resource.k8s.io/resourceslices"
#: The gate of the node resources that devices consume.
NODE_ALLOCATABLE = "DRANodeAllocatableResources"
#: The path to the claim's spec in each kind of object that has one.
CLAIM_SPECS = {
    "resource.k8s.io/resourceclaims": ("spec",),
    "resource.k8s.io/resourceclaimtemplates": ("spec", "spec"),
}
DERIVED_ATTRIBUTES = "DRADerivedAttributes"
COMPATIBILITY_GROUPS = "DRADeviceCompatibilityGroups"

_GATES = {
    POD_GROUPS: {
        "schedulingConstraints": TOPOLOGY,
        "resourceClaims": CLAIMS,
        "preemptionPolicy": PREEMPTION_POLICY,
        "parentCompositePodGroupName": COMPOSITE,
    },
    COMPOSITE_POD_GROUPS: {"preemptionPolicy": PREEMPTION_POLICY},
}
_TEMPLATE_GATES = {
    "schedulingConstraints": TOPOLOGY,
    "resourceClaims": CLAIMS,
    "preemptionPolicy": PREEMPTION_POLICY,
}
_COMPOSITE_GATES = {
    "preemptionPolicy": PREEMPTION_POLICY,
    "compositePodGroupTemplates": COMPOSITE,
}
_POD_SPECS = {
    "/pods": ("spec",),
    "/podtemplates": ("template", "spec"),
    **dict.fromkeys(
        (
            "/replicationcontrollers",
            "apps/deployments",
            "apps/replicasets",
            "apps/statefulsets",
            "apps/daemonsets",
            "batch/jobs",
        ),
        ("spec", "template", "spec"),
    ),
    "batch/cronjobs": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def set_gated_defaults(cluster: ServerState, store: str, obj: Object) -> None:
    """Set the defaults that depend on feature gates."""
    if store in _GATES and PREEMPTION_POLICY in cluster.features:
        spec = obj["spec"]
        if spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = PREEMPT_LOWER_PRIORITY


def drop_gated_fields(cluster: ServerState, store: str, obj: Object, old: Object | None) -> None:
    """Drop the fields whose gates are off and which `old` does not have."""
    features = cluster.features
    if (path := _POD_SPECS.get(store)) is not None:
        if GENERIC_WORKLOAD not in features:
            _drop(features, {"schedulingGroup": GENERIC_WORKLOAD}, _at(obj, path), _at(old, path))
    elif (gates := _GATES.get(store)) is not None:
        _drop(features, gates, obj["spec"], _at(old, ("spec",)))
    elif store == WORKLOADS:
        before = _at(old, ("spec",))
        _drop(features, {"compositePodGroupTemplates": COMPOSITE}, obj["spec"], before)
        _drop_templates(features, obj["spec"], before)
    elif (path := CLAIM_SPECS.get(store)) is not None:
        if DERIVED_ATTRIBUTES not in features:
            _drop_together(
                "derivedAttributes", _request_parts(obj, path), _request_parts(old, path)
            )
    elif store == RESOURCE_SLICES:
        if NODE_ALLOCATABLE not in features:
            _drop_together("nodeAllocatableResources", _devices(obj), _devices(old))
        if COMPATIBILITY_GROUPS not in features:
            _drop_together("compatibilityGroups", _consumptions(obj), _consumptions(old))


def drop_gated_status(cluster: ServerState, store: str, obj: Object, old: Object) -> None:
    """Drop the fields of a status whose gates are off."""
    if store == POD_GROUPS and not old["spec"].get("resourceClaims"):
        _drop(cluster.features, {"resourceClaimStatuses": CLAIMS}, obj["status"], {})
    elif store == "/pods":
        gates = {"nodeAllocatableResourceClaimStatuses": NODE_ALLOCATABLE}
        _drop(cluster.features, gates, _at(obj, ("status",)), _at(old, ("status",)))


def _at(obj: Object | None, path: Iterable[str]) -> Object:
    found = obj or {}
    for name in path:
        found = found.get(name) or {}
    return found


def _drop(features: Collection[str], gates: dict[str, str], new: Object, old: Object) -> None:
    for name, gate in gates.items():
        if gate not in features and old.get(name) in (None, []):
            new.pop(name, None)


def _drop_together(name: str, new: list[Object], old: list[Object]) -> None:
    """Drop a field from all parts of an object, unless any part of the old object has it."""
    if not any(part.get(name) for part in old):
        for part in new:
            part.pop(name, None)


def _request_parts(obj: Object | None, path: Iterable[str]) -> list[Object]:
    """Return the exact requests of a claim, and the alternatives of its other requests."""
    return [
        part
        for request in _at(obj, (*path, "devices")).get("requests") or ()
        for part in (request.get("exactly"), *(request.get("firstAvailable") or ()))
        if part is not None
    ]


def _devices(one: Object | None) -> list[Object]:
    """Return the devices of a slice."""
    return _at(one, ("spec",)).get("devices") or []


def _consumptions(one: Object | None) -> list[Object]:
    """Return the counter consumptions of the devices of a slice."""
    return [
        consumption
        for device in _devices(one)
        for consumption in device.get("consumesCounters") or ()
    ]


def _drop_templates(features: Collection[str], new: Object, old: Object) -> None:
    """Drop the gated fields of the templates of a workload, or of a composite template."""
    before = old.get("podGroupTemplates") or []
    for i, template in enumerate(new.get("podGroupTemplates") or ()):
        _drop(features, _TEMPLATE_GATES, template, before[i] if i < len(before) else {})
        # The field is written even if it is not set.
        template.setdefault("schedulingConstraints", None)
    named = {one["name"]: one for one in old.get("compositePodGroupTemplates") or ()}
    for template in new.get("compositePodGroupTemplates") or ():
        known = named.get(template["name"], {})
        _drop(features, _COMPOSITE_GATES, template, known)
        _drop_templates(features, template, known)
