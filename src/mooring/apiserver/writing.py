"""Create, update and patch: the steps from a request's body to the stored object."""

# apiserver: pkg/endpoints/handlers/{create,update,patch}.go, pkg/registry/generic/registry/store.go

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mooring.api.field_errors import invalid
from mooring.api.go_numbers import UINT64, parse_integer
from mooring.apiserver import (
    admission,
    bodies,
    deleting,
    loaded,
    quota,
    refusals,
    strategies,
    version_conversion,
)
from mooring.apiserver.auth.authorization import Authorizer, attributes
from mooring.apiserver.http import ApiRequest, ApiResponse
from mooring.apiserver.patch import apply as applying
from mooring.apiserver.patch import managed, patching
from mooring.apiserver.printing import rendering
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Stored, key_of
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema import canonical
from mooring.apiserver.schema.structural import decode_custom
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.warnings import custom_warnings, warnings
from mooring.apiserver.warning_texts import cut
from mooring.apiserver.write import Write

Object = dict[str, Any]

NAME_MISMATCH = "the name of the object ({}) does not match the name on the URL ({})"
NAMELESS = "the name of the object ({} based on URL) was undeterminable: name must be provided"
#: Methods that are authorized as update or patch and may create an object.
_CREATES_TOO = frozenset({"PUT", "PATCH"})
#: How many generated names are tried; apiserver: pkg/registry/generic/registry/store.go
ATTEMPTS = 8

#: Resources that an update creates; kube-apiserver: AllowCreateOnUpdate
_CREATE_ON_UPDATE = frozenset(
    {
        "/endpoints",
        "/events",
        "/limitranges",
        "/services",
        "coordination.k8s.io/leasecandidates",
        "coordination.k8s.io/leases",
        "node.k8s.io/runtimeclasses",
        "rbac.authorization.k8s.io/clusterrolebindings",
        "rbac.authorization.k8s.io/clusterroles",
        "rbac.authorization.k8s.io/rolebindings",
        "rbac.authorization.k8s.io/roles",
    }
)


def create_one(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Create the object in a request's body."""
    write = Write(cluster, request, info, served, bodies.options(request))
    obj = bodies.read_object(request, served, write.options)
    _place(write, obj)
    if info.name and obj["metadata"].get("name") not in (None, "", info.name):
        raise refusals.bad_request(NAME_MISMATCH.format(obj["metadata"].get("name"), info.name))
    return _respond(write, create(write, obj).object, 201)


def create(write: Write, obj: Object) -> Stored:
    """Set the defaults of a decoded object and store it."""
    strategies.default(write.cluster, write.served, obj)
    track(write, None, obj)
    return insert(write, obj)


def _place(write: Write, obj: Object) -> None:
    """Set an object's namespace to the request's; refuse a different one."""
    metadata = obj.setdefault("metadata", {})
    if not write.served.namespaced:
        # Drop the namespace of a cluster-scoped object; its path cannot have one.
        metadata.pop("namespace", None)
        return
    bodies.check_namespace(metadata, write.info.namespace)
    if write.info.namespace:
        metadata["namespace"] = write.info.namespace


def insert(write: Write, obj: Object) -> Stored:
    """Store a new object, after admission and validation."""
    cluster, served = write.cluster, write.served
    metadata = obj["metadata"]
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
        metadata.pop(name, None)
    if metadata.get("resourceVersion"):
        raise refusals.failure("resourceVersion should not be set on objects to be created")
    metadata.pop("resourceVersion", None)
    metadata["uid"] = cluster.uid()
    metadata["creationTimestamp"] = cluster.timestamp()
    generated = not metadata.get("name") and metadata.get("generateName")
    if generated:
        metadata["name"] = _generate(cluster, str(metadata["generateName"]))
    admission.admit_create(write, obj)
    with _warned(write):
        strategies.prepare_create(cluster, served, obj, dry_run=write.options.dry_run)
        strategies.check_create(cluster, served, obj)
    if write.request.method in _CREATES_TOO:
        # apiserver: pkg/endpoints/handlers/update.go, withAuthorization
        with _warned(write):
            Authorizer(cluster).require(attributes(write.request.user, write.info, "create"))
    _warn(write, obj)
    charges = _admit(write, obj)
    for attempt in range(ATTEMPTS):
        key = key_of(metadata.get("namespace", ""), metadata["name"])
        there = cluster.store.get(served.store, key)
        if there is None:
            break
        if not generated or attempt == ATTEMPTS - 1:
            if there.object["metadata"].get("deletionTimestamp"):
                raise refusals.being_deleted(served.name, served.group, metadata["name"])
            raise refusals.already_exists(served.name, served.group, metadata["name"])
        metadata["name"] = _generate(cluster, str(metadata["generateName"]))
    if write.options.dry_run:
        return Stored(key, obj, 0)
    quota.charge(cluster, charges)
    is_loaded = write.request.is_loading or loaded.derives(cluster, metadata)
    stored = cluster.store.put(served.store, key, obj, is_loaded=is_loaded)
    strategies.after_write(cluster, served, stored.object, None)
    return stored


def _admit(write: Write, obj: Object, old: Object | None = None) -> list[quota.Charge]:
    """Run validating admission on a valid object; return the charges to quotas."""
    with _warned(write):
        return admission.validate(write, obj, old)


@contextlib.contextmanager
def _warned(write: Write) -> Iterator[None]:
    """Attach the warnings collected so far to a refusal raised in the block."""
    try:
        yield
    except refusals.Refusal as refusal:
        refusal.warnings = cut(write.options.warnings)
        raise


def _generate(cluster: ServerState, prefix: str) -> str:
    return f"{prefix[:58]}{cluster.suffix()}"


def update_one(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Replace an object, or a subresource of it."""
    write = Write(cluster, request, info, served, bodies.options(request))
    obj = bodies.read_object(request, served, write.options)
    _place(write, obj)
    _check_name(write, obj)
    strategies.default(cluster, served, obj)
    live = cluster.store.get(served.store, key_of(info.namespace, info.name))
    if live is None and served.store in _CREATE_ON_UPDATE and not info.subresource:
        track(write, None, obj)
        return _respond(write, insert(write, obj).object, 201)
    if live is None:
        raise refusals.not_found(served.name, served.group, info.name)
    # Before `replace`: fields that the strategy restores must not count as the manager's.
    _preconditions(write, live.object, obj)
    track(write, live.object, obj)
    return _respond(write, replace(write, live, obj), 200)


#: Resources whose key in etcd is not their name.
_STORAGE = {
    "/nodes": "minions",
    "/services": "services/specs",
    "/endpoints": "services/endpoints",
    "/replicationcontrollers": "controllers",
    "networking.k8s.io/ingresses": "ingress",
}


def _storage_key(served: Served, metadata: Object) -> str:
    """Return the key of an object in kube-apiserver's etcd, for messages."""
    plain = served.name if served.custom is None else f"{served.group}/{served.name}"
    parts = (_STORAGE.get(served.store, plain), metadata.get("namespace"), metadata["name"])
    return "/".join(["/registry", *(one for one in parts if one)])


#: Resources whose update must name a resource version; kube-apiserver: AllowUnconditionalUpdate
_CONDITIONAL = frozenset(
    {
        "node.k8s.io/runtimeclasses",
        "policy/poddisruptionbudgets",
        "scheduling.k8s.io/podgroups",
        "scheduling.k8s.io/compositepodgroups",
        "scheduling.k8s.io/workloads",
        "storage.k8s.io/csidrivers",
        "storage.k8s.io/csinodes",
        "storage.k8s.io/csistoragecapacities",
        "storage.k8s.io/volumeattachments",
        "coordination.k8s.io/leases",
        "certificates.k8s.io/clustertrustbundles",
        "certificates.k8s.io/podcertificaterequests",
        "resource.k8s.io/devicetaintrules",
        "storagemigration.k8s.io/storageversionmigrations",
        "admissionregistration.k8s.io/validatingadmissionpolicies",
        "admissionregistration.k8s.io/validatingadmissionpolicybindings",
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/mutatingadmissionpolicies",
        "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
    }
)
_NO_VERSION = invalid("metadata.resourceVersion", 0, "must be specified for an update")


def _preconditions(write: Write, live: Object, obj: Object) -> None:
    served, metadata, there = write.served, obj["metadata"], live["metadata"]
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if write.request.method == "PUT" and uid and uid != there["uid"]:
        failed = f"Precondition failed: UID in precondition: {uid}, UID in object meta"
        why = (
            f"StorageError: invalid object, Code: 4, Key: {_storage_key(served, there)}, "
            f"ResourceVersion: 0, AdditionalErrorMsg: {failed}: {there['uid']}"
        )
        raise refusals.conflict(served.name, served.group, there["name"], why)
    blind = write.request.method == "PUT" and version in (None, "", "0")
    is_main = served.store in _CONDITIONAL and not write.subresource
    if blind and (is_main or served.custom is not None):
        raise refusals.invalid(served.name, served.group, there["name"], [_NO_VERSION])
    if version:
        try:
            parse_integer(version, UINT64, "ParseUint")
        except ValueError as error:
            raise refusals.failure(str(error)) from None
    if version and version != "0" and version != there["resourceVersion"]:
        raise refusals.conflict(served.name, served.group, there["name"], refusals.MODIFIED)


def replace(write: Write, live: Stored, obj: Object) -> Object:
    """Store a changed object, after admission and validation; write nothing if nothing changed."""
    cluster, served = write.cluster, write.served
    old = live.object
    metadata, there = obj["metadata"], old["metadata"]
    metadata.pop("selfLink", None)
    metadata.pop("generation", None)
    for name in ("uid", "deletionGracePeriodSeconds"):
        if not metadata.get(name) and name in there:
            metadata[name] = there[name]
    for name in ("creationTimestamp", "deletionTimestamp"):
        if name in there:
            metadata[name] = there[name]
    if "generation" in there:
        metadata["generation"] = there["generation"]
    metadata["resourceVersion"] = there["resourceVersion"]
    admission.admit_update(write, old, obj)
    with _warned(write):
        strategies.prepare_update(cluster, served, obj, old, write.subresource)
        strategies.check_update(write, obj, old)
    _warn(write, obj, old)
    charges = _admit(write, obj, old)
    if _same(old, obj):
        return old
    if write.options.dry_run:
        return obj
    if deleting.is_finished(served, obj):
        return deleting.remove(cluster, served, live, obj)
    quota.charge(cluster, charges)
    stored = cluster.store.put(served.store, live.key, obj)
    strategies.after_write(cluster, served, stored.object, old)
    return stored.object


def _same(old: Object, new: Object) -> bool:
    """Return whether a write changes nothing but the times in managedFields."""
    return old == new or _timeless(old) == _timeless(new)


def _timeless(obj: Object) -> Object:
    metadata = dict(obj["metadata"])
    metadata["managedFields"] = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in metadata.get("managedFields") or ()
    ]
    return obj | {"metadata": metadata}


def patch_one(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Patch an object; server-side apply may create it."""
    write = Write(cluster, request, info, served, bodies.options(request))
    media = bodies.media_type(request)
    known = [patching.JSON_PATCH, patching.MERGE_PATCH, patching.APPLY_PATCH]
    if served.custom is None:
        known.insert(2, patching.STRATEGIC_PATCH)
    if media not in known:
        raise refusals.unsupported_media_type(known)
    if media == patching.APPLY_PATCH:
        return _apply(write)
    live = cluster.find(served, info.namespace, info.name)
    shown = version_conversion.to_served(served, live.object)
    custom = served.custom
    decoder = (lambda value: decode_custom(custom, value)) if custom is not None else None
    patched, errors = patching.patch_object(
        served.type,
        shown,
        request.body,
        media,
        write.options.validation,
        decoder,
        strategies.kept_fields(shown, info.subresource),
    )
    write.options.warnings += errors
    return _respond(
        write, _patched(write, live, version_conversion.to_stored(served, patched)), 200
    )


def _patched(write: Write, live: Stored, obj: Object) -> Object:
    served, there = write.served, live.object
    obj["apiVersion"], obj["kind"] = there["apiVersion"], there["kind"]
    metadata = obj.setdefault("metadata", {})
    _check_name(write, obj)
    if served.namespaced and metadata.get("namespace") != write.info.namespace:
        raise refusals.bad_request(bodies.NAMESPACE_MISMATCH)
    _preconditions(write, there, obj)
    strategies.default(write.cluster, served, obj)
    track(write, there, obj)
    return replace(write, live, obj)


def _check_name(write: Write, obj: Object) -> None:
    """Refuse an object with another name than that of the path."""
    name, wanted = obj["metadata"].get("name") or "", write.info.name
    if not name:
        raise refusals.bad_request(NAMELESS.format(wanted))
    if name != wanted:
        raise refusals.bad_request(NAME_MISMATCH.format(name, wanted))


def _apply(write: Write) -> ApiResponse:
    request, info, served = write.request, write.info, write.served
    assert served.type is not None
    patch = applying.read_apply_patch(request.body)
    live = write.cluster.store.get(served.store, key_of(info.namespace, info.name))
    if live is None and info.subresource:
        raise refusals.not_found(served.name, served.group, info.name)
    applied = applying.apply(
        served.type,
        version_conversion.to_served(served, live.object) if live is not None else None,
        patch,
        manager=write.options.manager,
        version=served.group_version,
        kind=served.kind,
        now=write.cluster.timestamp(),
        force=write.options.force,
        subresource=info.subresource,
        reset=strategies.reset_fields(served, info.subresource),
    )
    try:
        if served.custom is not None:
            decoded, errors = decode_custom(served.custom, applied.object)
        else:
            decoded, errors = canonical.decode(served.type, applied.object)
    except canonical.DecodeError as error:
        raise refusals.bad_request(str(error)) from None
    bodies.take_errors(errors, served.kind, served.group_version, write.options)
    obj = version_conversion.to_stored(served, decoded)
    obj.setdefault("metadata", {})
    _check_name(write, obj)
    _place(write, obj)
    strategies.default(write.cluster, served, obj)
    applying.finish_apply(obj, applied.managers)
    if live is None:
        return _respond(write, insert(write, obj).object, 201)
    _preconditions(write, live.object, obj)
    return _respond(write, replace(write, live, obj), 200)


def track(write: Write, live: Object | None, obj: Object) -> None:
    """Record the request's field manager in an object's managedFields."""
    served = write.served
    if served.type is None:
        return
    shown = version_conversion.to_served(served, obj)
    managed.update_managers(
        served.type,
        version_conversion.to_served(served, live) if live is not None else None,
        shown,
        manager=write.manager,
        version=served.group_version,
        now=write.cluster.timestamp(),
        subresource=write.subresource,
        reset=strategies.reset_fields(served, write.subresource),
    )
    obj["metadata"] = shown["metadata"]


def _warn(write: Write, obj: Object, old: Object | None = None) -> None:
    """Collect the warnings about a valid object."""
    if write.subresource:
        return
    if write.served.custom is not None:
        write.options.warnings += custom_warnings(obj, old)
    else:
        write.options.warnings += warnings(obj["apiVersion"], obj["kind"], obj, old)


def _respond(write: Write, obj: Object, code: int) -> ApiResponse:
    """Return a response with the object and the warnings."""
    response = rendering.respond(write.cluster, write.request, write.served, obj, code)
    response.warnings = cut(write.options.warnings)
    return response
