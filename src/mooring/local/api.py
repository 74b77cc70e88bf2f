"""The API: who asks, may they, and which handler answers. No sockets here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mooring.local import deleting, discovery, reading, refusals, watching, writing
from mooring.local.cluster import Cluster
from mooring.local.exchange import Request, Response, answer, refuse, text
from mooring.local.paths import RequestInfo, read
from mooring.local.refusals import Refusal
from mooring.local.resources import Served

log = logging.getLogger(__name__)

Verb = Callable[[Cluster, Request, RequestInfo, Served], Response]

_VERBS: dict[str, Verb] = {
    "get": reading.get_one,
    "list": reading.list_many,
    "watch": watching.watch,
    "create": writing.create_one,
    "update": writing.update_one,
    "patch": writing.patch_one,
    "delete": deleting.delete_one,
    "deletecollection": deleting.delete_many,
}

VERSION: dict[str, Any] = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
_HEALTH = ("healthz", "livez", "readyz")


class Api:
    """Answer requests from the state of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def handle(self, request: Request) -> Response:
        """Answer one request; whatever goes wrong becomes a Status."""
        try:
            return self._handle(request)
        except Refusal as refusal:
            return refuse(refusal)
        except Exception as error:
            log.exception("A request failed")
            return refuse(refusals.internal(str(error) or type(error).__name__))

    def _handle(self, request: Request) -> Response:
        if request.certificate is not None:
            request.user = request.certificate
        info = read(request)
        if info.is_resource:
            return self._resource(request, info)
        return self._path(request, info)

    def _resource(self, request: Request, info: RequestInfo) -> Response:
        served = self.cluster.catalogue.get(info.group, info.version, info.resource)
        if served is None or (info.namespace and not served.namespaced and served.name != "namespaces"):
            return _not_found()
        if served.name == "namespaces" and not served.group:
            info.namespace = ""
        if info.subresource:
            part = served.subresources.get(info.subresource)
            if part is None:
                return _not_found()
        elif info.verb not in served.verbs:
            raise refusals.method_not_allowed()
        return _VERBS[info.verb](self.cluster, request, info, served)

    def _path(self, request: Request, info: RequestInfo) -> Response:
        parts = [part for part in info.path.split("/") if part]
        if not parts:
            return answer({"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]})
        if parts[0] in _HEALTH:
            return text("ok")
        if parts == ["version"]:
            return answer(VERSION)
        if parts[0] in ("api", "apis"):
            found = discovery.serve(self.cluster.catalogue, request, parts)
            if found is not None:
                return found
        return _not_found()


def _not_found() -> Response:
    return text("404 page not found\n", 404)
