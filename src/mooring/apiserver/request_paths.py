"""Request paths: the resource, the object and the verb of a request."""

# apiserver: pkg/endpoints/request/requestinfo.go

from __future__ import annotations

from urllib.parse import unquote

import msgspec

from mooring.apiserver.http import ApiRequest

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch"}
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

    @property
    def is_resource(self) -> bool:
        """Return whether the request is for a resource."""
        return bool(self.resource)


def read(request: ApiRequest) -> RequestInfo:
    """Return the verb and the target of a request."""
    path = request.path
    verb = request.method.lower()
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return RequestInfo(verb, path)
    info = RequestInfo(_VERBS.get(request.method, verb), path, group, version)
    watching = False
    if parts[0] == "watch" and len(parts) > 1:
        watching, parts = True, parts[1:]
    if parts[0] == "namespaces" and len(parts) > 1:
        info.namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_PARTS:
            parts = parts[2:]
    info.resource = parts[0]
    info.name = parts[1] if len(parts) > 1 else ""
    info.subresource = parts[2] if len(parts) > 2 else ""
    info.rest = "/".join(parts[3:])
    if request.method == "DELETE":
        info.verb = "delete" if info.name else "deletecollection"
    elif info.verb == "get" and (not info.name or watching):
        info.verb = "watch" if watching or request.flag("watch") else "list"
    return info
