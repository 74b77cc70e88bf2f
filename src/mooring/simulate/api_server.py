"""ApiServer: an API server in memory, as a transport of the client, that fails as a plan says.

It keeps to what kube-apiserver promises (resourceVersions, preconditions, what a bind checks) and
offers no more than a scheduler needs. Kubelets are played too: a bound pod that is deleted leaves
after a while.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from mooring.client.transport import Request, Response
from mooring.errors import NoAnswerError
from mooring.observe.clock import Clock
from mooring.simulate.client import merge
from mooring.simulate.faults import FaultPlan, RequestFault
from mooring.simulate.object_store import PODS, Json, ObjectStore, Refusal
from mooring.simulate.virtual_loop import Process
from mooring.simulate.watch_stream import Matches, WatchStream, error_line, status_body

SERVER = "https://simulated"

_PATH = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?"
)
_BEFORE = {
    RequestFault.REFUSED,
    RequestFault.TOO_MANY,
    RequestFault.CONFLICT,
    RequestFault.ERROR,
    RequestFault.CUT,
    RequestFault.TIMEOUT,
}
_TIMEOUTS = {RequestFault.TIMEOUT, RequestFault.TIMEOUT_APPLIED}
_CUTS = {RequestFault.CUT, RequestFault.CUT_APPLIED}
#: Seconds that a request waits for an answer which does not come.
_PATIENCE = 60.0


class Target(msgspec.Struct, frozen=True):
    """What a request is about."""

    collection: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = {}

    @classmethod
    def of(cls, target: str) -> Target:
        """Read path and query."""
        path, _, query = target.partition("?")
        found = _PATH.fullmatch(path)
        if found is None:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        parts = {key: unquote(value or "") for key, value in found.groupdict().items()}
        collection = f"{parts['group']}/{parts['plural']}"
        return cls(
            collection,
            parts["namespace"],
            parts["name"],
            parts["subresource"],
            dict(parse_qsl(query)),
        )


class ApiServer:
    """Serve an ObjectStore. Owned by one virtual loop."""

    def __init__(self, store: ObjectStore, faults: FaultPlan, clock: Clock) -> None:
        self.store = store
        self.faults = faults
        self.clock = clock
        self.streams: dict[WatchStream, None] = {}
        #: Called with a pod and a node's name before each bind that will be carried out.
        self.before_bind: Callable[[Json, str], None] = lambda pod, node_name: None
        #: Called with a bind's pod that has a node already.
        self.bound_before: Callable[[Json, str], None] = lambda pod, node_name: None
        #: How long a pod takes to leave its node, in seconds.
        self.leaving: Callable[[], float] = lambda: 1.0
        self._down = False
        self._pages: dict[str, tuple[str, list[Json]]] = {}

    def transport(self, process: Process) -> SimulatedTransport:
        """Return the connections of a process."""
        return SimulatedTransport(self, process)

    async def restart(self, seconds: float) -> None:
        """Cut every connection, and refuse new ones for a while."""
        self._down = True
        for stream in list(self.streams):
            stream.cut()
        await asyncio.sleep(seconds)
        self._down = False

    # Requests on their way.

    async def answer(self, request: Request) -> Response:
        """Carry a request out, or fail at it, and answer, or do not."""
        fault = self.faults.request(request.method)
        await asyncio.sleep(self.faults.delay())
        if self._down or fault is RequestFault.REFUSED:
            raise NoAnswerError("connection refused", sent=False)
        response = None
        if fault not in _BEFORE:
            response = self.handle(request)
        if fault in _TIMEOUTS:
            await asyncio.sleep(_PATIENCE)
            raise NoAnswerError("no answer within the time allowed", sent=True)
        await asyncio.sleep(self.faults.delay())
        if fault in _CUTS or self._down:
            raise NoAnswerError("the connection was cut within the answer", sent=True)
        if fault is RequestFault.TOO_MANY:
            return _failure(429, "TooManyRequests", "please try again", {"Retry-After": "1"})
        if fault is RequestFault.CONFLICT:
            return _failure(409, "Conflict", "the object has been modified; please try again")
        if response is None or fault is RequestFault.ERROR_APPLIED:
            return _failure(500, "InternalError", "etcdserver: request timed out")
        return response

    def open(self, request: Request, idle_timeout: float | None) -> WatchStream | _Failed:
        """Begin a watch, or say why not."""
        target = Target.of(request.target)
        query = target.query
        version: int | None = int(query.get("resourceVersion") or 0)
        if query.get("sendInitialEvents") == "true":
            if not self.faults.weather.watch_list:
                reason = "sendInitialEvents is forbidden for watch unless the gate is enabled"
                return _Failed(_failure(422, "Invalid", reason))
            version = None
        elif version is not None and version < self.store.oldest:
            return _Failed(Response(200, {}, error_line(410, "Expired", "too old version")))
        return WatchStream(
            self,
            target.collection,
            _matcher(query.get("fieldSelector", "")),
            version=version,
            seconds=float(query.get("timeoutSeconds") or 300),
            idle_timeout=idle_timeout,
        )

    def refuses_connections(self) -> bool:
        """Tell whether the server is down."""
        return self._down

    # Requests carried out.

    def handle(self, request: Request) -> Response:
        """Carry a request out."""
        try:
            target = Target.of(request.target)
            body = msgspec.json.decode(request.body) if request.body else {}
            return _ok(self._handle(request.method, target, body))
        except Refusal as refusal:
            return _failure(refusal.status, refusal.reason, refusal.message)

    def _handle(self, method: str, target: Target, body: Any) -> Json:
        collection, store = target.collection, self.store
        if method == "GET":
            if target.name:
                return store.get(collection, target.name, target.namespace)
            return self._list(target)
        if method == "POST" and target.subresource == "binding":
            return self._bind(target, body)
        if method == "POST":
            meta = {**body["metadata"], "namespace": target.namespace}
            return store.create(collection, {**body, "metadata": meta})
        if method == "DELETE":
            uid = body.get("preconditions", {}).get("uid", "")
            return self.delete(collection, target.name, target.namespace, uid=uid)
        old = store.get(collection, target.name, target.namespace)
        meta = body.get("metadata", {})
        if meta.get("resourceVersion") not in (None, old["metadata"]["resourceVersion"]):
            raise Refusal(409, "Conflict", "the object has been modified; please try again")
        if method == "PATCH":
            if meta.get("uid") not in (None, old["metadata"]["uid"]):
                raise Refusal(422, "Invalid", "metadata.uid: field is immutable")
            if target.subresource:
                body = {target.subresource: body.get(target.subresource, {})}
            return store.replace(collection, merge(old, body))
        return store.replace(collection, body)

    def _list(self, target: Target) -> Json:
        query = target.query
        token = query.get("continue", "")
        if token:
            if token not in self._pages:
                raise Refusal(410, "Expired", "the provided continue parameter is too old")
            version, items = self._pages[token]
            if int(version) < self.store.oldest:
                raise Refusal(410, "Expired", "the provided continue parameter is too old")
        else:
            matches = _matcher(query.get("fieldSelector", ""))
            found = self.store.list(target.collection, target.namespace)
            version, items = str(self.store.version), [obj for obj in found if matches(obj)]
        size = self.faults.page(int(query.get("limit") or 0)) or len(items)
        meta = {"resourceVersion": version}
        if len(items) > size:
            meta["continue"] = f"{version}-{len(self._pages)}"
            self._pages[meta["continue"]] = (version, items[size:])
        return {"metadata": meta, "items": items[:size]}

    def _bind(self, target: Target, body: Json) -> Json:
        # kube-apiserver: pkg/registry/core/pod/storage/storage.go (assignPod)
        pod = self.store.get(PODS, target.name, target.namespace)
        uid = body["metadata"].get("uid")
        if uid and uid != pod["metadata"]["uid"]:
            raise Refusal(409, "Conflict", "the UID in the precondition does not match")
        node_name = body["target"]["name"]
        if pod["spec"].get("nodeName"):
            self.bound_before(pod, node_name)
            where = pod["spec"]["nodeName"]
            message = f'pod {target.name} is already assigned to node "{where}"'
            raise Refusal(409, "Conflict", message)
        if pod["metadata"].get("deletionTimestamp"):
            message = f"pod {target.name} is being deleted, cannot be assigned to a host"
            raise Refusal(409, "Conflict", message)
        self.before_bind(pod, node_name)
        condition = {"type": "PodScheduled", "status": "True"}
        status = merge(
            pod.get("status", {}), {"conditions": [condition], "nominatedNodeName": None}
        )
        self.store.replace(
            PODS, {**pod, "spec": {**pod["spec"], "nodeName": node_name}, "status": status}
        )
        return {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def delete(self, collection: str, name: str, namespace: str = "", *, uid: str = "") -> Json:
        """Delete an object; a pod on a node leaves after a while."""
        old = self.store.get(collection, name, namespace)
        meta = old["metadata"]
        if uid and uid != meta["uid"]:
            raise Refusal(409, "Conflict", "the UID in the precondition does not match")
        if collection != PODS or not old["spec"].get("nodeName"):
            return self.store.remove(collection, old)
        if meta.get("deletionTimestamp"):
            return old
        asyncio.get_running_loop().call_later(self.leaving(), self._leave, meta)
        stamped = {**meta, "deletionTimestamp": "2027-01-15T08:00:00Z"}
        return self.store.replace(collection, {**old, "metadata": stamped})

    def _leave(self, meta: Json) -> None:
        pod = self.store.find(PODS, meta["name"], meta["namespace"])
        if pod is not None and pod["metadata"]["uid"] == meta["uid"]:
            self.store.remove(PODS, pod)


class SimulatedTransport:
    """Carry the requests of one process (`client.transport.Transport`)."""

    server = SERVER

    def __init__(self, server: ApiServer, process: Process) -> None:
        self._server = server
        self._process = process

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole answer, whatever its status."""
        self._check_alive()
        return await self._server.answer(request)

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[Any]:
        """Send a request and read its answer as it comes."""
        self._check_alive()
        await asyncio.sleep(self._server.faults.delay())
        if self._server.refuses_connections():
            raise NoAnswerError("connection refused", sent=False)
        fault = self._server.faults.request("GET")
        if fault is RequestFault.TOO_MANY:
            yield _Failed(_failure(429, "TooManyRequests", "please try again", _SOON))
        elif fault is RequestFault.ERROR:
            yield _Failed(_failure(500, "InternalError", "etcdserver: request timed out"))
        elif fault is not RequestFault.NONE:
            raise NoAnswerError("connection reset by peer", sent=fault is not RequestFault.REFUSED)
        else:
            yield self._server.open(request, idle_timeout)

    def refusal_hint(self) -> str:
        """Say nothing: everybody is known."""
        return ""

    async def close(self) -> None:
        """End all connections."""

    def _check_alive(self) -> None:
        # What a killed process does while its tasks end reaches nobody.
        if self._process.dead:
            raise asyncio.CancelledError


class _Failed:
    """An answer that is complete at once (`client.transport.Stream`)."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._body = response.body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        yield self._body

    async def read(self) -> bytes:
        """Return the body."""
        return self._body


_SOON = {"Retry-After": "1"}


def _ok(body: Any) -> Response:
    return Response(200, {}, msgspec.json.encode(body))


def _failure(
    status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    body = msgspec.json.encode(status_body(status, reason, message))
    return Response(status, headers or {}, body)


def _matcher(selector: str) -> Matches:
    """Read a field selector of the one form that schedulers use: fields that differ."""
    terms = [term.split("!=") for term in selector.split(",") if term]
    if not terms:
        return lambda obj: True

    def matches(obj: Json) -> bool:
        return all(_field(obj, path) != value for path, value in terms)

    return matches


def _field(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj.get(name, {})
    return obj
