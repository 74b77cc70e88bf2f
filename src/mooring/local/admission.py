"""Admission: what is added to objects, and what a namespace or a class does not allow."""

# kube-apiserver: plugin/pkg/admission

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mooring.local import refusals

if TYPE_CHECKING:
    from mooring.local.writing import Write

Object = dict[str, Any]


def admit_create(write: Write, obj: Object) -> None:
    """Admit a new object."""
    namespace = obj["metadata"].get("namespace")
    if namespace:
        _check_namespace(write, namespace, obj)


def admit_update(write: Write, old: Object, obj: Object) -> None:
    """Admit a changed object."""


def _check_namespace(write: Write, namespace: str, obj: Object) -> None:
    # apiserver: pkg/admission/plugin/namespace/lifecycle/admission.go
    found = write.cluster.lookup("/namespaces", "", namespace)
    if found is None:
        raise refusals.not_found("namespaces", "", namespace)
    if found["metadata"].get("deletionTimestamp"):
        served = write.served
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        refusal = refusals.forbidden(served.name, served.group, obj["metadata"]["name"], why)
        refusal.status["details"]["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise refusal
