"""ApiServer: an in-memory API server, used as the client's transport, that fails by a plan.

It keeps kube-apiserver's promises (resource versions, preconditions, the checks of a bind) and
serves no more than a scheduler needs. It also simulates kubelets: a bound pod that is deleted
disappears after a while.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from mooring.client.deadlines import ConnectError
from mooring.client.failures import explain, no_answer
from mooring.client.transport import BeforeSend, Request, Response
from mooring.controlplane.strategic_patch import patched
from mooring.errors import ApiError, NoAnswerError
from mooring.observe.clock import Clock
from tests.soak.faults import FaultPlan, RequestFault
from tests.soak.object_store import PODS, Json, ObjectStore, Refusal
from tests.soak.target import Target, matcher
from tests.soak.watch_stream import WatchStream, error_line, status_body
from tests.support.virtual_loop import Process, current_process, start_outside

SERVER = "https://simulated"

_BEFORE = {
    RequestFault.REFUSED,
    RequestFault.TOO_MANY,
    RequestFault.CONFLICT,
    RequestFault.ERROR,
    RequestFault.CUT,
    RequestFault.TIMEOUT,
}
_MAY_BE_LATE = re.compile(r"/binding$|/leases(/|$)")
_TIMEOUTS = {RequestFault.TIMEOUT, RequestFault.TIMEOUT_APPLIED}
_CUTS = {RequestFault.CUT, RequestFault.CUT_APPLIED}
#: Timeout of a request that gets no response, in seconds.
_PATIENCE = 60.0


class ApiServer:
    """An API server of an ObjectStore. Owned by one virtual loop."""

    #: The class of its watches; a subclass may lie.
    stream_type: type[WatchStream] = WatchStream

    def __init__(self, store: ObjectStore, faults: FaultPlan, clock: Clock) -> None:
        self.store = store
        self.faults = faults
        self.clock = clock
        self.streams: dict[WatchStream, None] = {}
        #: Called with a pod and a node's name before each bind that will be applied.
        self.before_bind: Callable[[Json, str], None] = lambda pod, node_name: None
        #: Called with a pod and a node's name if a bind's pod already has a node.
        self.bound_before: Callable[[Json, str], None] = lambda pod, node_name: None
        #: Called with every request that a process sends.
        self.on_send: Callable[[Process, Request], None] = lambda process, request: None
        #: Whether a write of a bind or a lease may still arrive after its sender has gone.
        self.late_writes = False
        #: Returns how many seconds a deleted pod takes to disappear.
        self.leaving: Callable[[], float] = lambda: 1.0
        self._down = False
        #: How often the server went down; requests in progress then get no response.
        self._ends = 0
        #: Until this moment of the loop's time the server may refuse any client.
        self._warm_at = 0.0
        self._pages: dict[str, tuple[str, list[Json]]] = {}

    def transport(
        self, process: Process, *, before_send: BeforeSend | None = None
    ) -> SimulatedTransport:
        """Return the transport of a process."""
        return SimulatedTransport(self, process, before_send)

    def go_down(self) -> None:
        """Cut every connection, and refuse new ones."""
        self._down = True
        self._ends += 1
        self._cut(None)

    def _cut(self, process: Process | None) -> None:
        """Cut the watches of one process, or of all."""
        for stream in list(self.streams):
            if process is None or stream.process is process:
                stream.cut()

    async def restart(self, seconds: float) -> None:
        """Cut every connection, refuse new ones for a while, and then refuse most requests.

        A kube-apiserver that has just started refuses with 403 until its roles are loaded.
        """
        self.go_down()
        await asyncio.sleep(seconds)
        self._down = False
        self._warm_at = asyncio.get_running_loop().time() + self.faults.warming()

    def refusal(self) -> Response | None:
        """Return a refusal because the sender's rights are not loaded yet, or None."""
        if asyncio.get_running_loop().time() >= self._warm_at:
            return None
        status = self.faults.refusal()
        if status == 401:
            return failure(401, "Unauthorized", "Unauthorized")
        return failure(403, "Forbidden", "RBAC: role not found") if status else None

    # Requests in transit.

    async def answer(self, request: Request) -> Response:
        """Apply a request or not, and respond or not, as the plan says."""
        fault = self.faults.request(request.method)
        try:
            await asyncio.sleep(self.faults.delay())
            await self.reach(request)
        except asyncio.CancelledError:
            self._arrive_late(request)
            raise
        if self._down or fault is RequestFault.REFUSED:
            raise _no_answer(request, _NO_CONNECTION)
        ends, response = self._ends, self.refusal()
        if response is not None:
            return response
        if fault not in _BEFORE:
            response = self.handle(request)
        if fault in _TIMEOUTS:
            await asyncio.sleep(_PATIENCE)
            raise _no_answer(request, TimeoutError())
        await asyncio.sleep(self.faults.delay())
        await self.reach(request)
        if fault in _CUTS or self._ends != ends:
            if self.faults.breaks_all():
                self._cut(current_process())
            raise _no_answer(request, self.faults.breakage())
        if fault is RequestFault.TOO_MANY:
            return failure(429, "TooManyRequests", "please try again", {"Retry-After": "1"})
        if fault is RequestFault.CONFLICT:
            return failure(409, "Conflict", "the object has been modified; please try again")
        if response is None or fault is RequestFault.ERROR_APPLIED:
            return failure(500, "InternalError", "etcdserver: request timed out")
        return response

    async def reach(self, request: Request) -> None:
        """Wait while the sender's network is down; the request may time out meanwhile."""
        process = current_process()
        if process is None or process.link.is_set():
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.link.wait()
        except TimeoutError as error:
            raise _no_answer(request, error) from None

    def _arrive_late(self, request: Request) -> None:
        """Let a write in transit arrive although its sender no longer waits for the response."""
        if self.late_writes and request.method != "GET" and _MAY_BE_LATE.search(request.target):
            seconds = self.faults.lateness()
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, self.handle, request)

    def open(self, request: Request, idle_timeout: float | None) -> WatchStream | FailedStream:
        """Start a watch, or return the failed response."""
        target = Target.of(request.target)
        query = target.query
        version: int | None = int(query.get("resourceVersion") or 0)
        if query.get("sendInitialEvents") == "true":
            if not self.faults.weather.watch_list:
                reason = "sendInitialEvents is forbidden for watch unless the gate is enabled"
                return FailedStream(failure(422, "Invalid", reason))
            version = None
        elif version is not None and version < self.store.oldest:
            return FailedStream(Response(200, {}, error_line(410, "Expired", "too old version")))
        return self.stream_type(
            self,
            target.collection,
            matcher(query.get("fieldSelector", "")),
            version=version,
            seconds=float(query.get("timeoutSeconds") or 300),
            idle_timeout=idle_timeout,
        )

    def refuses_connections(self) -> bool:
        """Return whether the server is down."""
        return self._down

    # Requests that arrived.

    def handle(self, request: Request) -> Response:
        """Apply a request and return the response."""
        try:
            target = Target.of(request.target)
            body = msgspec.json.decode(request.body) if request.body else {}
            return _ok(self._handle(request.method, target, body))
        except Refusal as refusal:
            return failure(refusal.status, refusal.reason, refusal.message)
        except ApiError as error:
            return failure(error.status, error.reason, error.message)

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
            return store.replace(collection, patched(old, body))
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
            matches = matcher(query.get("fieldSelector", ""))
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
        status = {"conditions": [condition], "nominatedNodeName": None}
        bound = patched(pod, {"spec": {"nodeName": node_name}, "status": status})
        self.store.replace(PODS, bound)
        return {"kind": "Status", "apiVersion": "v1", "status": "Success"}

    def delete(self, collection: str, name: str, namespace: str = "", *, uid: str = "") -> Json:
        """Delete an object; a pod on a node disappears after a while."""
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
    """The transport of one process (`client.transport.Transport`)."""

    server = SERVER

    def __init__(
        self, server: ApiServer, process: Process, before_send: BeforeSend | None = None
    ) -> None:
        self._server = server
        self._process = process
        self._before_send = before_send

    async def send(self, request: Request) -> Response:
        """Send a request and return the whole response, whatever its status."""
        self._check_alive()
        if self._before_send is not None:
            self._before_send(request)
        self._server.on_send(self._process, request)
        return await start_outside(self._server.answer(request))

    @asynccontextmanager
    async def stream(
        self, request: Request, *, idle_timeout: float | None = None
    ) -> AsyncIterator[Any]:
        """Send a request and read its response as it arrives."""
        self._check_alive()
        await asyncio.sleep(self._server.faults.delay())
        await self._server.reach(request)
        if self._server.refuses_connections():
            raise _no_answer(request, _NO_CONNECTION)
        refusal = self._server.refusal()
        fault = self._server.faults.request("GET")
        if refusal is not None:
            yield FailedStream(refusal)
        elif fault is RequestFault.TOO_MANY:
            yield FailedStream(failure(429, "TooManyRequests", "please try again", _SOON))
        elif fault is RequestFault.ERROR:
            yield FailedStream(failure(500, "InternalError", "etcdserver: request timed out"))
        elif fault is RequestFault.REFUSED:
            raise _no_answer(request, _NO_CONNECTION)
        elif fault is not RequestFault.NONE:
            raise _no_answer(request, self._server.faults.breakage())
        else:
            yield self._server.open(request, idle_timeout)

    def refusal_hint(self) -> str:
        """Return no hint: every client is known."""
        return ""

    async def close(self) -> None:
        """Close all connections."""

    def _check_alive(self) -> None:
        # Requests of a killed process, sent while its tasks end, must not arrive.
        if self._process.dead:
            raise asyncio.CancelledError


class FailedStream:
    """A failed response with a complete body (`client.transport.Stream`)."""

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


_NO_CONNECTION = ConnectError(ConnectionRefusedError())


def _no_answer(request: Request, error: BaseException) -> NoAnswerError:
    """Return the error of a broken request, as the real transports raise it."""
    message, sent = explain(error)
    return no_answer(SERVER, request, message, sent=sent)


_SOON = {"Retry-After": "1"}


def _ok(body: Any) -> Response:
    return Response(200, {}, msgspec.json.encode(body))


def failure(
    status: int, reason: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    body = msgspec.json.encode(status_body(status, reason, message))
    return Response(status, headers or {}, body)
