"""Client: the API server's verbs on typed objects."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec.structs import replace

from mooring.api import CustomResource, KubeObject, Pod
from mooring.api.kinds import encode_json
from mooring.client.collector import CollectorPause
from mooring.client.missing_rights import MissingRights
from mooring.client.protobuf import PROTOBUF, with_finalizer
from mooring.client.rate_limit import RateLimit
from mooring.client.resources import KindLike, ListOptions, Resource, find_resource
from mooring.client.responses import ObjectList, api_error, decode_list, decode_object
from mooring.client.transport import (
    JSON,
    MAX_LIST,
    MAX_OBJECT,
    Request,
    Response,
    Stream,
    Transport,
)
from mooring.client.warning_headers import parse_warnings
from mooring.client.watch import Watch
from mooring.client.watch_pacer import WatchPacer
from mooring.errors import ApiError, NoAnswerError, ObjectError
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.logs import vlog

log = logging.getLogger(__name__)

T = TypeVar("T")

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

# client-go: rest/request.go, maxRetries
MAX_RETRIES = 10
#: Longer than the 60 s after which kube-apiserver itself ends a request.
REQUEST_SECONDS = 75.0
#: Two missed bookmarks; a kube-apiserver sends one a minute.
IDLE_SECONDS = 150.0


class RequestMetrics(Protocol):
    """A receiver of request metrics. `code` is the HTTP status, or "<error>" without a response."""

    def requested(self, method: str, host: str, code: str, seconds: float) -> None:
        """Count a request and the time until its response."""
        ...

    def sized(self, method: str, host: str, sent: int, received: int) -> None:
        """Count the bytes of a request body and of the response body."""
        ...

    def retried(self, method: str, host: str, code: str) -> None:
        """Count a request that is retried because of this status."""
        ...

    def throttled(self, method: str, host: str, seconds: float) -> None:
        """Count the time a request waited for the rate limit."""
        ...


class Client:
    """Typed access to the objects of an API server. Calls raise ApiError if the server refuses.

    A kind is a Struct of `mooring.api` or, for other resources, "plural.version.group". Objects
    without a namespace are cluster-scoped. Belongs to one event loop.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        limit: RateLimit | None = None,
        clock: Clock | None = None,
        metrics: RequestMetrics | None = None,
        rights: MissingRights | None = None,
    ) -> None:
        self._transport = transport
        self._limit = limit
        self._clock = SystemClock() if clock is None else clock
        self._metrics = metrics
        self._rights = rights
        self._host = urlsplit(transport.server).netloc
        self._plurals: dict[tuple[str, str], str] = {}
        #: Shared by all code that decodes large responses of this client.
        self.collector = CollectorPause()
        #: Shared by all watches of this client that are resumed when they are silent.
        self.pacer = WatchPacer()

    @property
    def server(self) -> str:
        """Return the URL of the server."""
        return self._transport.server

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    # Reading.

    async def get(self, kind: type[T] | str, name: str, namespace: str = "") -> T:
        """Read one object from the server."""
        resource = find_resource(kind)
        body = await self.request("GET", resource.path(namespace, name))
        found: T = self._object(body, resource)
        return found

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        options: ListOptions | None = None,
        *,
        timeout: float = REQUEST_SECONDS,
        retries: int = MAX_RETRIES,
        max_bytes: int = MAX_LIST,
    ) -> ObjectList[Any]:
        """Read a list, of all namespaces unless one is named; with a limit, one page of it."""
        resource = find_resource(kind)
        query = (options or ListOptions()).query()
        body = await self.request(
            "GET",
            resource.path(namespace) + query,
            timeout=timeout,
            retries=retries,
            max_bytes=max_bytes,
        )
        with self.collector:
            try:
                return decode_list(body, resource.struct)
            except ObjectError as error:
                raise _garbage(error, "GET", self.server + resource.path(namespace)) from None

    @asynccontextmanager
    async def watch(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        options: ListOptions | None = None,
        *,
        idle_timeout: float | None = IDLE_SECONDS,
    ) -> AsyncIterator[Watch[Any]]:
        """Watch objects; the watch counts as broken if nothing arrives for `idle_timeout` seconds.

        The response headers must arrive within `REQUEST_SECONDS`.
        """
        resource = find_resource(kind)
        asked = replace(options or ListOptions(), watch=True)
        target = resource.path(namespace) + asked.query()
        async with self.stream(target, idle_timeout=idle_timeout) as stream:
            yield Watch(stream, resource.struct, self.server + resource.path(namespace))

    @asynccontextmanager
    async def stream(
        self, target: str, *, accept: str = JSON, idle_timeout: float | None = IDLE_SECONDS
    ) -> AsyncIterator[Stream]:
        """Read the response to a GET as it arrives; raise ApiError unless its status is 200.

        The stream fails if nothing arrives for `idle_timeout` seconds, or if the response headers
        do not arrive within `REQUEST_SECONDS`.
        """
        request = Request("GET", target, timeout=REQUEST_SECONDS, accept=accept)
        started = self._clock.now()
        try:
            async with self._transport.stream(request, idle_timeout=idle_timeout) as stream:
                self._count("GET", str(stream.status), started)
                if stream.status != 200:
                    answer = Response(stream.status, stream.headers, await stream.read())
                    raise self._failure("GET", target, answer)
                yield stream
        except NoAnswerError as error:
            if not error.sent:
                self._count("GET", "<error>", started)
            raise

    # Writing.

    async def create(self, obj: T) -> T:
        """Create an object and return it as the server stored it."""
        known, resource = await self._place(obj)
        body = encode_json(known)
        answer = await self.request("POST", resource.path(known.metadata.namespace), body)
        made: T = self._object(answer, resource)
        return made

    async def update(self, obj: T, *, subresource: str = "") -> T:
        """Replace an object; its resourceVersion must be the current one.

        Fields that Mooring does not know are lost: if others may have set some, patch instead.
        """
        known, resource = await self._place(obj)
        path = resource.path(known.metadata.namespace, known.metadata.name, subresource)
        made: T = self._object(await self.request("PUT", path, encode_json(known)), resource)
        return made

    async def patch(
        self,
        kind: type[T] | str,
        name: str,
        namespace: str,
        patch: Any,
        *,
        subresource: str = "",
        patch_type: str = STRATEGIC,
        field_manager: str = "",
        force: bool = False,
    ) -> T:
        """Change an object with a patch: STRATEGIC, MERGE, JSON_PATCH (a list) or APPLY.

        Custom resources do not support STRATEGIC patches. An APPLY patch needs a field manager.
        """
        resource = find_resource(kind)
        query = {"fieldManager": field_manager} if field_manager else {}
        if force:
            query["force"] = "true"
        path = resource.path(namespace, name, subresource)
        target = f"{path}?{urlencode(query)}" if query else path
        body = msgspec.json.encode(patch)
        made: T = self._object(await self.request("PATCH", target, body, patch_type), resource)
        return made

    async def add_finalizer(self, obj: T, finalizer: str) -> T:
        """Add a finalizer to an object that has not changed since it was read.

        It is patched. If the server refuses the patch (422) because of free-form fields of the
        object, the stored object is read and written back as protobuf.
        """
        known, resource = await self._place(obj)
        meta = known.metadata
        precondition = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        sure = {key: text for key, text in precondition.items() if text}
        patch = {"metadata": {**sure, "finalizers": [finalizer]}}
        try:
            patched: T = await self.patch(type(obj), meta.name, meta.namespace, patch)
        except ApiError as error:
            if error.status != 422:
                raise
            path = resource.path(meta.namespace, meta.name)
            kept = await self.request("GET", path, accept=PROTOBUF)
            try:
                body = with_finalizer(
                    kept, finalizer, uid=meta.uid, resource_version=meta.resource_version
                )
            except ValueError:
                raise error from None
            patched = self._object(await self.request("PUT", path, body, PROTOBUF), resource)
        return patched

    async def delete(
        self,
        kind: type[Any] | str,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete an object; with `uid`, only if it still has that uid."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        path = find_resource(kind).path(namespace, name)
        await self.request("DELETE", path, msgspec.json.encode(options))

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod to a node."""
        # kube-scheduler: plugins/defaultbinder/default_binder.go
        meta = pod.metadata
        binding = _Binding(
            metadata=_BindingMeta(meta.name, meta.namespace, meta.uid),
            target=_Target("Node", node_name),
        )
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}/binding"
        await self.request("POST", path, msgspec.json.encode(binding))

    async def evict(self, pod: Pod) -> None:
        """Evict a pod if its disruption budgets allow it; the error is 429 if they do not."""
        meta = pod.metadata
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
        }
        if meta.uid:
            eviction["deleteOptions"] = {"preconditions": {"uid": meta.uid}}
        path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}/eviction"
        # A budget's refusal comes with Retry-After, but the caller decides whether to retry.
        await self.request("POST", path, msgspec.json.encode(eviction), retries=0)

    # HTTP.

    async def request(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        content_type: str = JSON,
        *,
        timeout: float | None = REQUEST_SECONDS,
        retries: int = MAX_RETRIES,
        accept: str = JSON,
        max_bytes: int = MAX_OBJECT,
    ) -> bytes:
        """Send any request and return the body of its response, of at most `max_bytes`.

        The request is retried if the server responds with 429 or 503 and Retry-After. Reads are
        also retried after a broken connection, writes never: they may have been carried out.
        Each attempt has a timeout of `timeout` seconds.
        """
        request = Request(method, target, body, content_type, timeout, accept, max_bytes)
        while True:
            if self._limit is not None:
                waited = await self._limit.wait()
                if self._metrics is not None:
                    self._metrics.throttled(method, self._host, waited)
            started = self._clock.now()
            try:
                response = await self._transport.send(request)
            except NoAnswerError as error:
                self._count(method, "<error>", started)
                if method != "GET" or not error.sent or retries <= 0:
                    raise
                code, delay = "<error>", 1.0
            else:
                code = str(response.status)
                self._count(method, code, started)
                if self._metrics is not None:
                    self._metrics.sized(method, self._host, len(body), len(response.body))
                if response.status < 300:
                    _log_warnings(response)
                    return response.body
                failure = self._failure(method, target, response)
                if not _asks_for_patience(failure, method) or retries <= 0:
                    raise failure
                assert failure.retry_after is not None
                delay = failure.retry_after
            retries -= 1
            if self._metrics is not None:
                self._metrics.retried(method, self._host, code)
            vlog(log, 4, "Got a Retry-After response", delay=delay, url=self.server + target)
            await self._clock.sleep(delay)

    def _failure(self, method: str, target: str, answer: Response) -> ApiError:
        hint = self._transport.refusal_hint() if answer.status == 401 else ""
        # A query is long and says little about what went wrong.
        url = self.server + target.partition("?")[0]
        error = api_error(answer.status, answer.headers, answer.body, method, url, hint)
        if error.is_forbidden and self._rights is not None:
            self._rights.note(error, method, target)
        return error

    def _count(self, method: str, code: str, started: float) -> None:
        if self._metrics is not None:
            seconds = max(0.0, self._clock.now() - started)
            self._metrics.requested(method, self._host, code, seconds)

    def _object(self, body: bytes, resource: Resource) -> Any:
        try:
            return decode_object(body, resource.struct)
        except ObjectError as error:
            raise _garbage(error, "", self.server) from None

    async def _place(self, obj: Any) -> tuple[KubeObject, Resource]:
        if not isinstance(obj, KubeObject):
            raise ObjectError(f"expected a Kubernetes object, got {type(obj).__name__}")
        if not isinstance(obj, CustomResource):
            return obj, find_resource(type(obj))
        group, _, version = obj.api_version.rpartition("/")
        plural = await self._plural(group, version, obj.kind)
        return obj, find_resource(f"{plural}.{version}.{group}")

    async def serves(self, kind: KindLike) -> bool:
        """Return whether the server serves a kind; this needs no right to read its objects."""
        resource = find_resource(kind)
        try:
            served = await self._discover(resource.group, resource.version)
        except ApiError as error:
            if error.is_not_found:
                return False
            raise
        return any(found.name == resource.plural for found in served)

    async def _discover(self, group: str, version: str) -> Sequence[_ApiResource]:
        """Return the resources of a group version."""
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        body = await self.request("GET", path)
        try:
            return msgspec.json.decode(body, type=_ResourceList).resources
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise _garbage(error, "GET", self.server + path) from None

    async def _plural(self, group: str, version: str, kind: str) -> str:
        """Return the server's plural for a kind; each group version is requested once."""
        api_version = f"{group}/{version}" if group else version
        if (api_version, kind) not in self._plurals:
            for found in await self._discover(group, version):
                if "/" not in found.name:
                    self._plurals[api_version, found.kind] = found.name
        plural = self._plurals.get((api_version, kind))
        if plural is None:
            raise ApiError(404, f"the server knows no {kind} in {api_version}", reason="NotFound")
        return plural


class _BindingMeta(msgspec.Struct, omit_defaults=True):
    name: str
    namespace: str
    uid: str = ""


class _Target(msgspec.Struct):
    kind: str
    name: str


class _Binding(msgspec.Struct, kw_only=True):
    apiVersion: str = "v1"
    kind: str = "Binding"
    metadata: _BindingMeta
    target: _Target


class _ApiResource(msgspec.Struct):
    name: str = ""
    kind: str = ""


class _ResourceList(msgspec.Struct):
    resources: list[_ApiResource] = []


def _asks_for_patience(error: ApiError, method: str) -> bool:
    if error.retry_after is None:
        return False
    if error.status in (429, 503):
        return True
    # client-go retries writes after any 5xx with Retry-After. Here the caller must find out
    # whether the write was carried out.
    return error.status >= 500 and method == "GET"


def _garbage(error: Exception, method: str, url: str) -> ApiError:
    message = f"the server's answer cannot be read: {error}"
    return ApiError(500, message, reason="ClientDecoding", method=method, url=url)


def _log_warnings(response: Response) -> None:
    # client-go: rest/warnings.go
    header = response.headers.get("Warning")
    if header is not None:
        for code, text in parse_warnings(header):
            if code == 299 and text:
                log.warning(text)
