"""Request paths: the resource, the object and the verb of a request."""

# apiserver: pkg/endpoints/request/requestinfo.go

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from mooring.api.field_selectors import FieldSelector
from mooring.api.labels import Selector
from mooring.apiserver.http import ApiRequest
from mooring.errors import ObjectError

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
#: Verbs that a path may begin with, in the place of the method's.
_SPECIAL = ("proxy", "watch")
_NAMESPACE_PARTS = frozenset({"status", "finalize"})


class RequestInfo(msgspec.Struct):
    """The verb and the target of a request."""

    verb: str
    path: str
    #: This and what follows is set only if the request names a resource.
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    #: The path after the subresource.
    rest: str = ""
    is_resource: bool = False
    #: The namespace whose roles apply: `namespace`, or for a namespace its name.
    scope: str = ""
    #: The verb at the beginning of the path, "" if there is none.
    special: str = ""
    #: The name that the field selector of a list or watch requires, which counts as its name.
    selected: str = ""


def read(request: ApiRequest) -> RequestInfo:
    """Return the verb and the target of a request."""
    # Decoded before it is split, as in Go: an encoded slash separates like a plain one.
    path = unquote(request.path)
    trimmed = path.strip("/")
    parts = trimmed.split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return RequestInfo(request.method.lower(), path)
    verb = _VERBS.get(request.method, "")
    info = RequestInfo(verb, path, group, version, is_resource=True)
    if parts[0] in _SPECIAL and len(parts) > 1:
        info.verb = info.special = parts[0]
        parts = parts[1:]
    if parts[0] == "namespaces" and len(parts) > 1:
        info.scope = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_PARTS:
            info.namespace = info.scope
            parts = parts[2:]
    info.resource = parts[0]
    info.name = parts[1] if len(parts) > 1 else ""
    info.subresource = parts[2] if len(parts) > 2 else ""
    info.rest = "/".join(parts[3:])
    if not info.name and info.verb == "get":
        info.verb = "watch" if request.flag("watch") else "list"
        info.selected = _selected(request)
    elif not info.name and info.verb == "delete":
        info.verb = "deletecollection"
    return info


def _selected(request: ApiRequest) -> str:
    """Return the name that the field selector requires, "" if it requires none or is malformed."""
    try:
        Selector.from_text(request.parameter("labelSelector"))
        name = FieldSelector.from_text(request.parameter("fieldSelector")).required("metadata.name")
    except ObjectError:
        return ""
    if name in (".", "..") or "/" in name or "%" in name:
        return ""
    return name
