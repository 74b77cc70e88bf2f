"""The API without sockets: authenticates and authorizes a request and picks its handler."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from mooring.api.go_format import go_quote
from mooring.api.kubernetes_version import KUBERNETES_VERSION, MAJOR, MINOR
from mooring.apiserver import (
    deleting,
    discovery,
    explaining,
    metrics_api,
    reading,
    refusals,
    watching,
    writing,
)
from mooring.apiserver.auth.access_reviews import Reviews
from mooring.apiserver.auth.authentication import Authenticator
from mooring.apiserver.auth.authorization import Authorizer, attributes
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.http import ApiRequest, ApiResponse, BodyReader, answer, refuse, text
from mooring.apiserver.openapi_documents import Documents
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo, read
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.subresources import account_tokens, binding, eviction, pod_logs, scaling
from mooring.apiserver.validation.device_selectors import UncompiledSelectors
from mooring.apiserver.validation.formats import path_segment_problems
from mooring.apiserver.validation.warnings import kind_warning
from mooring.errors import StorageError
from mooring.observe.logs import kv
from mooring.serve.explain_paths import NO_SCHEDULER, ExplainPaths

log = logging.getLogger(__name__)

Verb = Callable[[ServerState, ApiRequest, RequestInfo, Served], ApiResponse]

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
_PARTS: dict[tuple[str, str], Verb] = {
    ("binding", "create"): binding.bind,
    ("eviction", "create"): eviction.evict,
    ("scale", "get"): scaling.get,
    ("scale", "update"): scaling.update,
    ("scale", "patch"): scaling.patch,
}
_WRITES = ("create", "update", "patch")
_SIMULATED = frozenset({"exec", "attach", "portforward", "proxy"})
NOT_RUNNING = "{} is not possible: the local cluster simulates containers"

VERSION: dict[str, Any] = {
    "major": str(MAJOR),
    "minor": str(MINOR),
    "emulationMajor": str(MAJOR),
    "emulationMinor": str(MINOR),
    "minCompatibilityMajor": str(MAJOR),
    "minCompatibilityMinor": str(MINOR - 1),
    "gitVersion": f"v{KUBERNETES_VERSION}",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "",
}
#: The path of the pods that would run as processes with more flags.
SIMULATED = "/mooring/v1/simulated"
_CHECKS = ("etcd", "log", "ping")
_HEALTH = ("healthz", "livez", "readyz")
_NOT_READY = "[+]ping ok\n[-]cluster failed: reason withheld\nreadyz check failed\n"


class Api:
    """The API server's request handler, on the state of one cluster."""

    def __init__(self, cluster: ServerState, signer: TokenSigner) -> None:
        self.cluster = cluster
        self.signer = signer
        self.authorizer = Authorizer(cluster)
        self.authenticator = Authenticator(cluster, signer, self.authorizer)
        self.log_source: pod_logs.LogSource | None = None
        #: Returns how many pods are only simulated for lack of which flags.
        self.simulated: Callable[[], dict[str, int]] = dict
        #: Answers about the decisions of the cluster's scheduler.
        self.explain = ExplainPaths(None, absent=NO_SCHEDULER)
        #: Whether everything in the server has started, as /readyz reports it.
        self.ready = True
        self._reviews = Reviews(cluster, self.authenticator, self.authorizer)
        self._documents = Documents(cluster.catalogue)
        #: Held while a selector is compiled.
        self._turn = asyncio.Lock()
        metrics_api.serve(cluster.catalogue)

    async def handle(self, request: ApiRequest, read_body: BodyReader | None = None) -> ApiResponse:
        """Return the response to one request; every error becomes a Status.

        `read_body` receives the body. It is called only after the request was authorized, so an
        unknown client cannot make the server hold bodies in memory.
        """
        try:
            request.user = self.authenticator.identify(request)
            if explaining.explains(request):
                return await explaining.explain(self.explain, self.authorizer, request)
            info = read(request)
            self._authorize(request, info)
            if read_body is not None:
                request.body = await read_body()
            response = await self._answer_compiled(request, info)
            if response.later is None:
                return response
            found = await response.later
            found.warnings = response.warnings + found.warnings
            return found
        except Refusal as refusal:
            return refuse(refusal)
        except StorageError as error:
            log.error("A write failed", extra=kv(path=request.path, err=str(error)))
            return refuse(refusals.internal(str(error)))
        except Exception as error:
            log.exception("A request failed")
            return refuse(refusals.internal(str(error) or type(error).__name__))

    async def _answer_compiled(self, request: ApiRequest, info: RequestInfo) -> ApiResponse:
        """Answer a request, after its long selectors are compiled."""
        while True:
            try:
                return self._answer(request, info)
            except UncompiledSelectors as missing:
                # Nothing has been written yet, so the request can start again.
                await missing.compile(self._turn)

    def _answer(self, request: ApiRequest, info: RequestInfo) -> ApiResponse:
        if info.is_resource:
            return self._warned(request, info)
        return self._path(request, info)

    def _warned(self, request: ApiRequest, info: RequestInfo) -> ApiResponse:
        """Handle a request for a resource; add a warning if its kind is deprecated."""
        served = self.cluster.catalogue.get(info.group, info.version, info.resource)
        if served is None:
            # Where custom resources are served, other paths of their groups are unknown.
            is_known = info.group in self.cluster.catalogue.groups
            if is_known and discovery.is_built_in(info.group):
                raise refusals.no_such_resource()
            return _not_found()
        notice = served.warning or kind_warning(served.group_version, served.kind)
        if not notice:
            return self._resource(request, info, served)
        try:
            response = self._resource(request, info, served)
        except Refusal as refusal:
            response = refuse(refusal)
        response.warnings = [notice, *response.warnings]
        return response

    def _authorize(self, request: ApiRequest, info: RequestInfo) -> None:
        self.authorizer.require(attributes(request.user, info))

    def _resource(self, request: ApiRequest, info: RequestInfo, served: Served) -> ApiResponse:
        if served.custom is not None and not _is_placed(info, served):
            return _not_found()
        if info.namespace and not served.namespaced:
            raise refusals.no_such_resource()
        if info.special:
            self._check_special(request, info)
        if request.method == "HEAD":
            raise refusals.method_not_allowed()
        if info.subresource:
            return self._part(request, info, served)
        if info.verb not in served.verbs:
            raise refusals.method_not_allowed()
        if served.namespaced and not info.namespace:
            if info.name:
                raise refusals.no_such_resource()
            if info.verb in ("create", "deletecollection"):
                raise refusals.method_not_allowed()
        if (info.verb == "create") == bool(info.name) and info.verb in _WRITES:
            raise refusals.method_not_allowed()
        _check_name(info)
        if served.group == metrics_api.GROUP:
            return metrics_api.read(self.cluster, request, info, served)
        if self._reviews.answers(served):
            return self._reviews.create(request, info, served)
        if served.store == "/bindings":
            return binding.bind(self.cluster, request, info, served)
        return _VERBS[info.verb](self.cluster, request, info, served)

    def _check_special(self, request: ApiRequest, info: RequestInfo) -> None:
        """Refuse a path that begins with a verb, unless it is a watch."""
        if info.special != "watch" or info.subresource:
            raise refusals.no_such_resource()
        if request.method != "GET":
            raise refusals.method_not_allowed()

    def _part(self, request: ApiRequest, info: RequestInfo, served: Served) -> ApiResponse:
        part = served.subresources.get(info.subresource)
        if part is None and served.custom is not None:
            raise refusals.not_found(served.name, served.group, info.name)
        if part is None or (info.rest and served.custom is None and info.subresource != "proxy"):
            raise refusals.no_such_resource()
        if info.verb not in part.verbs:
            raise refusals.method_not_allowed()
        if served.namespaced and not info.namespace:
            raise refusals.no_such_resource()
        _check_name(info)
        name = info.subresource
        if name == "log":
            return pod_logs.read(self.cluster, request, info, served, self.log_source)
        if name == "token":
            return account_tokens.create(self.cluster, request, info, served, self.signer)
        if name in _SIMULATED:
            self.cluster.find(served, info.namespace, info.name)
            raise refusals.not_implemented(NOT_RUNNING.format(name))
        handler = _PARTS.get((name, info.verb)) or _VERBS[info.verb]
        return handler(self.cluster, request, info, served)

    def _path(self, request: ApiRequest, info: RequestInfo) -> ApiResponse:
        parts = [part for part in info.path.split("/") if part]
        if not parts:
            return answer({"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]})
        if parts[0] in _HEALTH:
            return _health(request, parts, self.ready or parts[0] != "readyz")
        if parts == ["version"]:
            return answer(VERSION)
        if info.path == SIMULATED:
            return answer({"pods": self.simulated()})
        found = None
        if parts[0] == "openapi":
            found = self._documents.serve(request, parts)
        elif parts[0] in ("api", "apis"):
            found = discovery.serve(self.cluster.catalogue, request, parts)
        return found or _not_found()


def _is_placed(info: RequestInfo, served: Served) -> bool:
    """Return whether a path names a namespace if a custom resource needs one, and only then."""
    # apiextensions-apiserver: pkg/apiserver/customresource_handler.go
    if not served.namespaced:
        return not info.namespace
    return bool(info.namespace) or info.verb in ("list", "watch")


def _check_name(info: RequestInfo) -> None:
    """Refuse a name that cannot be a part of a path."""
    if info.name and (whys := path_segment_problems(info.name)):
        why = f"Name parameter invalid: {go_quote(info.name)}: {';'.join(whys)}"
        raise refusals.bad_request(why)


def _health(request: ApiRequest, parts: list[str], ready: bool) -> ApiResponse:
    # apiserver: pkg/server/healthz/healthz.go
    if parts[1:] and (len(parts) > 2 or parts[1] not in _CHECKS):
        return _not_found()
    if not ready:
        return text(_NOT_READY, 500)
    if "verbose" in request.query and len(parts) == 1:
        return text(f"[+]ping ok\n{parts[0]} check passed\n")
    return text("ok")


def _not_found() -> ApiResponse:
    return text("404 page not found\n", 404)
