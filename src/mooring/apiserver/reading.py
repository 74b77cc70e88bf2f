"""Get and list, with paging, selectors and resourceVersion."""

# apiserver: pkg/endpoints/handlers/get.go, pkg/storage/continue.go

from __future__ import annotations

import base64
import json
from typing import Any

from mooring.apiserver import list_options, refusals, selecting
from mooring.apiserver.http import ApiRequest, ApiResponse
from mooring.apiserver.printing import rendering
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_store import Gone, Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState

Object = dict[str, Any]

_CONTINUE_VERSION = "meta.k8s.io/v1"
TOO_LARGE = "Too large resource version"


def get_one(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Return a response with one object."""
    version = _version(request)
    _not_ahead(cluster, version)
    stored = cluster.find(served, info.namespace, info.name)
    form = rendering.form(cluster, request, served)
    return ApiResponse(200, form.one(stored), form.content_type)


def list_many(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> ApiResponse:
    """Return a response with the selected objects, in pages if the request sets a limit."""
    form = rendering.form(cluster, request, served)
    items, metadata = select(cluster, request, info, served)
    return ApiResponse(200, form.many(items, metadata), form.content_type)


def select(
    cluster: ServerState, request: ApiRequest, info: RequestInfo, served: Served
) -> tuple[list[Stored], Object]:
    """Return the selected objects of one page, and the metadata of the list."""
    selection = selecting.read(request, served)
    limit = max(0, list_options.whole(request, "limit"))
    list_options.check_list(request)
    token = request.parameter("continue")
    version = cluster.store.version
    after = ""
    if token:
        asked, after = _decode(token)
        if request.parameter("resourceVersion") not in ("", "0"):
            raise refusals.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        version = asked if asked > 0 else version
    else:
        wanted = _version(request)
        _not_ahead(cluster, wanted)
        if request.parameter("resourceVersionMatch") == "Exact":
            version = wanted
    try:
        candidates = cluster.store.list_at(served.store, info.namespace, after, version)
    except Gone as gone:
        if not token:
            raise refusals.expired(str(gone)) from None
        fresh = _encode(cluster.store.version, after)
        raise refusals.expired(refusals.CONTINUE_EXPIRED, fresh) from None
    metadata: Object = {"resourceVersion": str(version)}
    items: list[Stored] = []
    rest = 0
    for stored in candidates:
        if limit and len(items) == limit:
            rest += 1
            if not selection.empty and selection.matches(stored):
                break
            continue
        if selection.empty or selection.matches(stored):
            items.append(stored)
    if rest and (selection.empty or selection.matches(stored)):
        metadata["continue"] = _encode(version, items[-1].key)
        if selection.empty:
            metadata["remainingItemCount"] = rest
    return items, metadata


def _version(request: ApiRequest) -> int:
    try:
        return list_options.version_of(request.parameter("resourceVersion"))
    except ValueError as error:
        raise refusals.bad_request(f"invalid resource version: {error}") from None


def _not_ahead(cluster: ServerState, version: int) -> None:
    current = cluster.store.version
    if version > current:
        causes = [{"reason": "ResourceVersionTooLarge", "message": TOO_LARGE}]
        raise refusals.Refusal(
            504,
            "Timeout",
            f"Timeout: {TOO_LARGE}: {version}, current: {current}",
            {"causes": causes, "retryAfterSeconds": 1},
        )


def _encode(version: int, after: str) -> str:
    token = {"v": _CONTINUE_VERSION, "rv": version, "start": f"{after}\0"}
    return base64.urlsafe_b64encode(json.dumps(token).encode()).decode().rstrip("=")


def _decode(token: str) -> tuple[int, str]:
    prefix = "invalid continue token: continue key is not valid: "
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise refusals.bad_request(f"{prefix}illegal base64 data at input byte 0") from None
    try:
        found = json.loads(data)
    except ValueError:
        first = repr(chr(data[0])).replace("x", "u00") if data else "EOF"
        text = f"invalid character {first} looking for beginning of value"
        raise refusals.bad_request(prefix + text) from None
    given = found if isinstance(found, dict) else {}
    version, start = given.get("rv"), given.get("start")
    if given.get("v") != _CONTINUE_VERSION:
        why = f"server does not recognize this encoded version {given.get('v') or ''}"
    elif not isinstance(version, int) or version == 0:
        why = f"incorrect encoded start resourceVersion (version {_CONTINUE_VERSION})"
    elif not isinstance(start, str) or not start:
        why = f"encoded start key empty (version {_CONTINUE_VERSION})"
    elif _is_clean(start):
        return version, start.rstrip("\0")
    else:
        why = start
    raise refusals.bad_request(prefix + why)


def _is_clean(key: str) -> bool:
    """Return whether each part of a key is a name: dots would lead to other keys."""
    return all(part not in ("", ".", "..") for part in key.removeprefix("/").split("/"))
