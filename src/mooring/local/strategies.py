"""What each kind does to its objects when they are written: status, generation, defaults, checks."""

# kube-apiserver: pkg/registry/*/*/strategy.go

from __future__ import annotations

from typing import Any

from mooring.local import refusals
from mooring.local.cluster import Cluster
from mooring.local.defaults import set_defaults
from mooring.local.patch import managed
from mooring.local.patch.field_set import FieldSet
from mooring.local.refusals import Refusal
from mooring.local.resources import Served
from mooring.local.schema.canonical import zero

Object = dict[str, Any]

_KEEPS_STATUS = frozenset({"/nodes", "/events"})
_GENERATION = frozenset(
    {
        "/pods",
        "/replicationcontrollers",
        "apps/deployments",
        "apps/replicasets",
        "apps/statefulsets",
        "apps/daemonsets",
        "batch/jobs",
        "batch/cronjobs",
        "policy/poddisruptionbudgets",
        "networking.k8s.io/ingresses",
        "networking.k8s.io/ingressclasses",
        "networking.k8s.io/networkpolicies",
        "scheduling.k8s.io/priorityclasses",
        "scheduling.k8s.io/podgroups",
        "scheduling.k8s.io/workloads",
        "discovery.k8s.io/endpointslices",
        "resource.k8s.io/deviceclasses",
        "resource.k8s.io/resourceslices",
        "resource.k8s.io/devicetaintrules",
        "apiextensions.k8s.io/customresourcedefinitions",
        "flowcontrol.apiserver.k8s.io/flowschemas",
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        "admissionregistration.k8s.io/validatingadmissionpolicies",
        "admissionregistration.k8s.io/validatingadmissionpolicybindings",
        "admissionregistration.k8s.io/mutatingadmissionpolicies",
        "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
    }
)


def reset_fields(served: Served, subresource: str) -> FieldSet:
    """Return the fields that a request cannot set."""
    return managed.reset_fields(served.kind, "status" in served.subresources, subresource)


def default(served: Served, obj: Object) -> None:
    """Fill in what the API server fills in."""
    if served.custom is None:
        set_defaults(obj["apiVersion"], obj["kind"], obj)


def prepare_create(cluster: Cluster, served: Served, obj: Object) -> None:
    """Make a new object ready for the store."""
    if "status" in served.subresources and served.store not in _KEEPS_STATUS:
        _empty_status(served, obj)
    if served.store in _GENERATION or served.custom is not None:
        obj["metadata"]["generation"] = 1
    if served.store == "/namespaces":
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        if "kubernetes" not in (spec.get("finalizers") or ()):
            spec["finalizers"] = [*(spec.get("finalizers") or ()), "kubernetes"]
    elif served.store == "/pods":
        obj["status"] = {"phase": "Pending"}


def _empty_status(served: Served, obj: Object) -> None:
    field = served.type.fields.get("status") if served.type is not None else None
    obj.pop("status", None)
    if field is not None and field.always:
        obj["status"] = zero(field.kind)


def check_create(cluster: Cluster, served: Served, obj: Object) -> None:
    """Refuse a new object that does not validate."""
    if not obj["metadata"].get("name"):
        problem = (
            "FieldValueRequired",
            "metadata.name",
            "Required value: name or generateName is required",
        )
        raise refusals.invalid(served.kind, served.group, "", [problem])


def prepare_update(
    cluster: Cluster, served: Served, obj: Object, old: Object, subresource: str
) -> None:
    """Keep what a write must not change, and count the generation."""
    if subresource == "status":
        for name in (set(obj) | set(old)) - {"status", "metadata"}:
            _keep(obj, old, name)
        return
    if "status" in served.subresources:
        _keep(obj, old, "status")
    if served.store in _GENERATION or served.custom is not None:
        ignored = ("metadata", "status")
        before = {key: value for key, value in old.items() if key not in ignored}
        after = {key: value for key, value in obj.items() if key not in ignored}
        if before != after:
            obj["metadata"]["generation"] = int(old["metadata"].get("generation") or 0) + 1


def _keep(obj: Object, old: Object, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def check_update(
    cluster: Cluster, served: Served, obj: Object, old: Object, subresource: str
) -> None:
    """Refuse a changed object that does not validate."""


def check_delete(cluster: Cluster, served: Served, obj: Object) -> None:
    """Refuse a deletion that must not be."""


def begin_deletion(cluster: Cluster, served: Served, obj: Object) -> None:
    """Mark an object whose deletion begins."""
    if served.store == "/namespaces":
        obj["status"] = (obj.get("status") or {}) | {"phase": "Terminating"}


def namespace_terminating(obj: Object) -> Refusal:
    """Refuse to delete a namespace twice."""
    name = obj["metadata"]["name"]
    return refusals.conflict(
        "namespaces",
        "",
        name,
        "The system is ensuring all content is removed from this namespace.  Upon completion, "
        "this namespace will automatically be purged by the system.",
    )


def after_write(cluster: Cluster, served: Served, obj: Object, old: Object | None) -> None:
    """Do what follows a write."""


def after_delete(cluster: Cluster, served: Served, obj: Object) -> None:
    """Do what follows a deletion."""
