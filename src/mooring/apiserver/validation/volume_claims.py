"""Persistent volume claims."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaim)

from __future__ import annotations

import copy

from mooring.api.field_errors import FieldError, each, forbidden, invalid, not_supported, required
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.changes import claim_as_go, difference
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.formats import label_problems, subdomain_problems
from mooring.apiserver.validation.metadata import check_annotations, check_labels, check_selector

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
NOT_POSITIVE = "must be greater than zero"
ALONE = "may not use ReadWriteOncePod with other access modes"
IMMUTABLE_SPEC = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)


def check_claim(claim: Object) -> list[FieldError]:
    """Check a new claim, apart from its metadata."""
    spec = claim["spec"]
    if spec.get("dataSourceRef") is None:
        # An invalid dataSource without a dataSourceRef is dropped, not refused.
        spec = {name: value for name, value in spec.items() if name != "dataSource"}
    return check_claim_spec(spec, "spec")


def check_access_modes(modes: list[str], path: str) -> list[FieldError]:
    """Check the access modes of a volume or claim."""
    problems = [not_supported(path, one, ACCESS_MODES) for one in modes if one not in ACCESS_MODES]
    alone = "ReadWriteOncePod" in modes
    if alone and any(one in ACCESS_MODES and one != "ReadWriteOncePod" for one in modes):
        problems.append(forbidden(path, ALONE))
    return problems


def check_claim_spec(spec: Object, path: str) -> list[FieldError]:
    """Check the spec of a claim, or of a template of claims."""
    problems: list[FieldError] = []
    modes = spec.get("accessModes") or []
    if not modes:
        problems.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    problems += check_selector(spec.get("selector"), f"{path}.selector")
    problems += check_access_modes(modes, f"{path}.accessModes")
    storage = (spec["resources"].get("requests") or {}).get("storage")
    where = f"{path}.resources[storage]"
    if storage is None:
        problems.append(required(where))
    elif parse_nanos(storage) <= 0:
        problems.append(invalid(where, storage, NOT_POSITIVE))
    if name := spec.get("storageClassName"):
        problems += each(f"{path}.storageClassName", name, subdomain_problems(name))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        problems.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    problems += _sources(spec, path)
    if name := spec.get("volumeAttributesClassName"):
        problems += each(f"{path}.volumeAttributesClassName", name, subdomain_problems(name))
    return problems


def check_claim_template(template: Object, path: str) -> list[FieldError]:
    """Check the claim template of a pod's ephemeral volume."""
    problems = check_template_metadata(template.get("metadata") or {}, f"{path}.metadata")
    return problems + check_claim_spec(template["spec"], f"{path}.spec")


def check_template_metadata(metadata: Object, path: str) -> list[FieldError]:
    """Check the metadata in a template: it may set only labels and annotations."""
    problems = check_annotations(metadata.get("annotations"), f"{path}.annotations")
    problems += check_labels(metadata.get("labels"), f"{path}.labels")
    return problems + [
        forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set")
        for name, value in metadata.items()
        if value not in (None, "") and name not in ("annotations", "labels")
    ]


def _sources(spec: Object, path: str) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    problems = _source(source, f"{path}.dataSource") if source is not None else []
    if reference is None:
        return problems
    problems += _source(reference, f"{path}.dataSourceRef")
    namespace = reference.get("namespace")
    if namespace:
        whys = label_problems(namespace)
        problems += each(f"{path}.dataSourceRef.namespace", namespace, whys)
    if source is None:
        return problems
    if namespace:
        why = "may not be specified when dataSourceRef.namespace is specified"
        problems.append(invalid(path, {}, why))
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        problems.append(invalid(path, {}, "must match dataSourceRef"))
    return problems


def _source(source: Object, path: str) -> list[FieldError]:
    problems = [required(f"{path}.{name}") for name in ("name", "kind") if not source[name]]
    group = source.get("apiGroup") or ""
    if not group and source["kind"] != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        problems.append(invalid(path, source["kind"], why))
    if group:
        problems += each(f"{path}.apiGroup", group, subdomain_problems(group))
    return problems


def check_claim_update(claim: Object, old: Object) -> list[FieldError]:
    """Check an update of a claim: only a bound claim may grow."""
    problems = check_claim(claim)
    new, before = copy.deepcopy(claim["spec"]), copy.deepcopy(old["spec"])
    if not before.get("volumeName"):
        before["volumeName"] = new.setdefault("volumeName", "")
    if before.get("storageClassName") is None:
        new.pop("storageClassName", None)
    bound = claim["status"].get("phase") == "Bound"
    old_size = (before["resources"].get("requests") or {}).get("storage", "0")
    new_size = (new["resources"].get("requests") or {}).get("storage", "0")
    if bound:
        if new["resources"].get("requests"):
            new["resources"]["requests"]["storage"] = old_size
        new.pop("volumeAttributesClassName", None)
        if before.get("volumeAttributesClassName") is not None:
            new["volumeAttributesClassName"] = before["volumeAttributesClassName"]
    if new != before:
        shown = difference(claim_as_go(before), claim_as_go(new))
        problems.append(forbidden("spec", f"{IMMUTABLE_SPEC}\n{shown}"))
    held = (old["status"].get("capacity") or {}).get("storage", "0")
    if parse_nanos(new_size) < parse_nanos(old_size) and parse_nanos(new_size) <= parse_nanos(held):
        where = "spec.resources.requests.storage"
        problems.append(forbidden(where, "field can not be less than status.capacity"))
    modes = (claim["spec"].get("volumeMode"), old["spec"].get("volumeMode"))
    return problems + immutable("volumeMode", *modes)
