"""Delete: grace periods, finalizers, preconditions, propagation, whole collections."""

# apiserver: pkg/registry/rest/delete.go, pkg/registry/generic/registry/store.go

from __future__ import annotations

import asyncio
import re
from typing import Any

import msgspec

from mooring.api.field_errors import invalid, not_supported
from mooring.api.go_numbers import INT64, parse_integer
from mooring.api.timestamps import format_time, parse_time
from mooring.apiserver import bodies, reading, refusals, strategies
from mooring.apiserver.http import ApiRequest, ApiResponse, answer
from mooring.apiserver.patch.patch_options import dry_run_problems
from mooring.apiserver.printing import rendering
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema import decoding
from mooring.apiserver.schema.canonical import DecodeError, decode
from mooring.apiserver.server_state import ServerState
from mooring.controlplane.type_table import types

Object = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_UNRECOGNIZED = re.compile(r"the object provided is unrecognized \(.*?\): (.*) \(.*\)", re.S)
POLICIES = ("Background", "Foreground", "Orphan")
#: Resources for which the response to a deletion is the deleted object, not a Status.
_RETURNED = frozenset(
    {"/pods", "/services", "/persistentvolumes", "/persistentvolumeclaims", "/serviceaccounts"}
)


def copy_of(obj: Object) -> Object:
    """Return a deep copy of a stored object, which the caller may change."""
    made: Object = msgspec.to_builtins(obj)
    return made


def is_finished(served: Served, obj: Object) -> bool:
    """Return whether an object is being deleted and nothing holds it back any more."""
    metadata = obj["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (served.store == "/namespaces" and obj.get("spec", {}).get("finalizers"))
    )


def remove(
    cluster: ServerState, served: Served, live: Stored, last: Object | None = None
) -> Object:
    """Remove an object from the store; return it as watchers see it."""
    strategies.before_delete(cluster, served, live.object)
    stored = cluster.store.delete(served.store, live.key, last)
    strategies.after_delete(cluster, served, stored.object)
    return stored.object


def _read_options(request: ApiRequest) -> Object:
    """Return DeleteOptions from the body and the parameters."""
    options: Object = {}
    if request.body:
        try:
            found = decoding.read_body(request.body, bodies.media_type(request), "DeleteOptions")
        except DecodeError as error:
            # DeleteOptions are not a resource, so drop the text about unrecognized objects.
            found = _UNRECOGNIZED.fullmatch(str(error))
            raise refusals.bad_request(found[1] if found else str(error)) from None
        options = _decoded(found)
    if text := request.parameter("gracePeriodSeconds"):
        try:
            options["gracePeriodSeconds"] = parse_integer(text, INT64)
        except ValueError as error:
            raise refusals.bad_request(str(error)) from None
    if text := request.parameter("propagationPolicy"):
        options["propagationPolicy"] = text
    if text := request.parameter("orphanDependents"):
        options["orphanDependents"] = text == "true"
    if "dryRun" in request.query:
        options["dryRun"] = request.query["dryRun"]
    return _checked(options)


def _decoded(found: Object) -> Object:
    """Return the options in a body; refuse another kind or wrong types."""
    kind, version = found.get("kind"), found.get("apiVersion")
    if kind not in (None, "", "DeleteOptions"):
        known = f'no kind "{kind}" is registered for version "{version or ""}"'
        raise refusals.bad_request(f'{known} in scheme "pkg/runtime/scheme.go:111"')
    try:
        options, _ = decode(types().get("meta.v1.DeleteOptions"), found)
    except DecodeError as error:
        raise refusals.bad_request(str(error)) from None
    return options


def _checked(options: Object) -> Object:
    # apimachinery: pkg/apis/meta/v1/validation/validation.go, ValidateDeleteOptions
    problems = []
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if orphan is not None and policy is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in POLICIES:
        supported = ("Foreground", "Background", "Orphan", "nil")
        problems.append(not_supported("propagationPolicy", policy, supported))
    problems += dry_run_problems(options.get("dryRun") or ())
    if problems:
        raise refusals.invalid("DeleteOptions", "meta.k8s.io", "", problems)
    return options


def delete_one(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Delete an object, immediately or gracefully."""
    options = _read_options(request)
    live = cluster.find(served, info.namespace, info.name)
    obj, done = delete(cluster, served, live, options)
    if not done:
        return rendering.respond(cluster, request, served, obj, 200)
    if served.store in _RETURNED:
        return rendering.respond(cluster, request, served, obj, 200)
    return answer(_success(served, obj))


def _success(served: Served, obj: Object) -> Object:
    details: Object = {"name": obj["metadata"]["name"]}
    if served.group:
        details["group"] = served.group
    details |= {"kind": served.name, "uid": obj["metadata"]["uid"]}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def delete(
    cluster: ServerState, served: Served, live: Stored, options: Object
) -> tuple[Object, bool]:
    """Delete an object; return its new state, and whether it was removed from the store."""
    metadata = live.object["metadata"]
    _check_preconditions(served, metadata, options.get("preconditions") or {})
    strategies.check_delete(cluster, served, live.object)
    dry = bool(options.get("dryRun"))
    wanted = options.get("gracePeriodSeconds")
    finalizers = _finalizers(served, metadata, options)
    waits = bool(finalizers) or (served.store == "/namespaces")
    if metadata.get("deletionTimestamp"):
        asked = wanted if wanted is None or wanted >= 0 else 1
        return _again(cluster, served, live, asked, finalizers, dry)
    grace = _grace(served, live.object, wanted)
    graceful = served.store == "/pods"
    if not graceful and not waits:
        return (live.object if dry else remove(cluster, served, live)), True
    obj = copy_of(live.object)
    changed = obj["metadata"]
    changed["deletionTimestamp"] = format_time(cluster.now().timestamp() + grace)
    changed["deletionGracePeriodSeconds"] = grace
    if changed.get("generation"):
        changed["generation"] += 1
    if finalizers:
        changed["finalizers"] = finalizers
    strategies.begin_deletion(cluster, served, obj)
    at_once = not grace and not waits
    if dry:
        return obj, at_once
    stored = cluster.store.put(served.store, live.key, obj)
    if at_once:
        # Watchers see the pod terminating before they see it deleted.
        return remove(cluster, served, stored), True
    strategies.after_write(cluster, served, stored.object, live.object)
    return stored.object, False


def _again(
    cluster: ServerState,
    served: Served,
    live: Stored,
    grace: int | None,
    finalizers: list[str],
    dry: bool,
) -> tuple[Object, bool]:
    """Delete an object that is already being deleted.

    A shorter grace period takes effect, and an object that nothing holds back is removed.
    """
    metadata = live.object["metadata"]
    before = metadata.get("deletionGracePeriodSeconds") or 0
    if before and grace is not None and grace < before:
        obj = copy_of(live.object)
        now = cluster.now().timestamp()
        when = parse_time(metadata["deletionTimestamp"]) - (before - grace)
        if when < now:
            # The shorter period is already over, so at most one second is left.
            when, grace = now, min(grace, 1)
        obj["metadata"]["deletionTimestamp"] = format_time(when)
        obj["metadata"]["deletionGracePeriodSeconds"] = grace
        at_once = not grace and not finalizers
        if dry:
            return obj, at_once
        stored = cluster.store.put(served.store, live.key, obj)
        return (remove(cluster, served, stored), True) if at_once else (stored.object, False)
    if not before and not finalizers and served.store != "/namespaces":
        return (live.object if dry else remove(cluster, served, live)), True
    if served.store == "/namespaces":
        raise strategies.namespace_terminating(live.object)
    return live.object, False


def _check_preconditions(served: Served, metadata: Object, wanted: Object) -> None:
    for field, title, why in (
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ):
        asked, there = wanted.get(field), metadata[field]
        if asked is not None and asked != there:
            text = (
                f"the {title} in the precondition ({asked}) does not match the {title} in record "
                f"({there}). The object might have been {why}"
            )
            raise refusals.conflict(served.kind, served.group, metadata["name"], text)


def _grace(served: Served, obj: Object, wanted: Any) -> int:
    """Return the grace period in seconds; it is 0 for anything but pods."""
    # kube-apiserver: pkg/registry/core/pod/strategy.go, CheckGracefulDelete
    if served.store != "/pods":
        return 0
    spec = obj.get("spec") or {}
    grace = wanted if isinstance(wanted, int) else spec.get("terminationGracePeriodSeconds")
    if grace is None:
        grace = 30
    if not spec.get("nodeName"):
        return 0
    if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    return 1 if grace < 0 else int(grace)


def _finalizers(served: Served, metadata: Object, options: Object) -> list[str]:
    """Return the finalizers after a deletion, including the one of its propagation policy."""
    found = list(metadata.get("finalizers") or ())
    policy, orphan = options.get("propagationPolicy"), options.get("orphanDependents")
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    if policy is None:
        return found
    kept = [one for one in found if one not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        kept.append(FOREGROUND)
    elif policy == "Orphan":
        kept.append(ORPHAN)
    return kept


def delete_many(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Delete every object that a request selects."""
    options = _read_options(request)
    items, metadata = reading.select(cluster, request, info, served)
    form = rendering.form(cluster, request, served)

    async def delete_all() -> ApiResponse:
        deleted = []
        for stored in items:
            # Yield to other requests; one of them may delete the object first.
            await asyncio.sleep(0)
            live = cluster.store.get(served.store, stored.key)
            if live is not None:
                obj, _ = delete(cluster, served, live, options)
                deleted.append(Stored(stored.key, obj, live.version))
        return ApiResponse(200, form.many(deleted, metadata), form.content_type)

    return ApiResponse(200, later=delete_all())
