"""Validation: what the API server refuses in a decoded object, or in an update of one.

`check_create` and `check_update` return field errors in the order and with the
messages of kube-apiserver; an empty list means that the object is valid. They work on
canonical, defaulted objects.
"""

# kubernetes: pkg/apis/*/validation, pkg/registry/*/strategy.go

from __future__ import annotations

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation.checks_by_kind import CREATES, NAMES, UPDATES
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import path_segment_problems
from mooring.apiserver.validation.metadata import (
    check_kube_finalizers,
    check_metadata,
    check_metadata_update,
    name_check,
)
from mooring.controlplane.type_table import types

__all__ = ["check_create", "check_update"]


def check_create(group_version: str, kind: str, obj: Object) -> list[FieldError]:
    """Return the problems of a new object of a built-in kind."""
    check = NAMES.get(kind) or name_check(kind)
    if kind == "Event" and not obj.get("eventTime"):
        # Events in the form that precedes events.k8s.io are hardly checked.
        check = path_segment_problems
    problems = check_metadata(obj["metadata"], _is_namespaced(group_version, kind), check)
    problems += check_kube_finalizers(obj["metadata"])
    more = CREATES.get((group_version, kind))
    return problems + (more(obj) if more is not None else [])


def check_update(
    group_version: str, kind: str, obj: Object, old: Object, subresource: str = ""
) -> list[FieldError]:
    """Return the problems of an updated object, or of the subresource that a request wrote."""
    problems = check_metadata_update(obj["metadata"], old["metadata"])
    if not subresource:
        problems += check_kube_finalizers(obj["metadata"])
    more = UPDATES.get((group_version, kind, subresource))
    return problems + (more(obj, old) if more is not None else [])


def _is_namespaced(group_version: str, kind: str) -> bool:
    for resource in types().resources(group_version):
        if resource.kind == kind and "/" not in resource.name:
            return resource.namespaced
    return False
