"""TappedClient and TappedHttpClient: what plugins reach servers with, if taps listen.

Plugins keep what they are answered: measurements that they fetch beside the cycle, or the claim
that PreBind has written, which counts before the informer has it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from mooring.api import Pod
from mooring.client.resources import find_resource
from mooring.errors import safe_url
from mooring.framework.handle import ApiClient, HttpAnswer, HttpClient, ListedObjects
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_message
from mooring.scheduler.periodic_work import running_work
from mooring.scheduler.taps import Taps

T = TypeVar("T")


class TappedClient:
    """A client (`framework.handle.ApiClient`) that tells the taps what the server answers.

    Answers about pods are left out: the informer has them, and plugins write their statuses often.
    """

    def __init__(self, client: ApiClient, taps: Taps) -> None:
        self._client = client
        self._taps = taps

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        *,
        timeout: float = 75.0,
        retries: int = 10,
        max_bytes: int = 2**30,
    ) -> ListedObjects:
        """Read all objects of a kind from the server."""
        request = f"list {find_resource(kind).name} {namespace}".rstrip()
        call = self._client.list(
            kind, namespace, timeout=timeout, retries=retries, max_bytes=max_bytes
        )
        try:
            listed = await call
        except Exception as error:
            self._failed(request, error)
            raise
        self._taps.fetched(request, tuple(listed.items), "", running_work())
        return listed

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Read one object from the server."""
        return await self._tell(
            "get", kind, namespace, name, self._client.get(kind, name, namespace)
        )

    async def create(self, obj: T) -> T:
        """Create an object and return it as the server stored it."""
        return await self._tell_of("create", obj, self._client.create(obj))

    async def update(self, obj: T) -> T:
        """Replace an object."""
        return await self._tell_of("update", obj, self._client.update(obj))

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T:
        """Apply a strategic merge patch."""
        call = self._client.patch(kind, name, namespace, patch, subresource=subresource)
        return await self._tell("patch", kind, namespace, name, call)

    async def add_finalizer(self, obj: T, finalizer: str) -> T:
        """Add a finalizer to an object."""
        return await self._tell_of("finalize", obj, self._client.add_finalizer(obj, finalizer))

    async def delete(
        self, kind: type[Any], name: str, namespace: str = "", *, uid: str = ""
    ) -> None:
        """Delete an object."""
        await self._client.delete(kind, name, namespace, uid=uid)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod to a node."""
        await self._client.bind(pod, node_name)

    def __getattr__(self, name: str) -> Any:
        # What the client has beyond the contract, a plugin may use all the same.
        return getattr(self._client, name)

    async def _tell_of(self, verb: str, obj: Any, call: Awaitable[T]) -> T:
        meta = obj.metadata
        return await self._tell(verb, type(obj), meta.namespace, meta.name, call)

    async def _tell(self, verb: str, kind: Any, namespace: str, name: str, call: Awaitable[T]) -> T:
        if kind is Pod:
            return await call
        key = f"{namespace}/{name}" if namespace else name
        request = f"{verb} {find_resource(kind).name} {key}"
        try:
            answer = await call
        except Exception as error:
            self._failed(request, error)
            raise
        self._taps.fetched(request, answer, "", running_work())
        return answer

    def _failed(self, request: str, error: Exception) -> None:
        self._taps.fetched(request, None, error_message(error), running_work())


class PrivateAnswer(msgspec.Struct, frozen=True):
    """An `HttpAnswer` to a plugin that does not declare that it may be recorded."""

    status: int
    body: bytes


class OpenRequests:
    """The texts of the requests to other servers that wait for an answer.

    A text has neither user nor values of the query, so it can be recorded. Requests of one work
    with equal texts that wait at the same time are numbered, in a replay as in the scheduler.
    """

    def __init__(self) -> None:
        self._open: set[tuple[str, str]] = set()

    def begin(self, work: str, url: str) -> str:
        """Return the text of a new request; `work` is the periodic work that sends it, or ""."""
        base = text = f"GET {safe_url(url)}"
        number = 0
        while (work, text) in self._open:
            number += 1
            text = f"{base} #{number}"
        self._open.add((work, text))
        return text

    def end(self, work: str, text: str) -> None:
        """Take note that a request waits no longer."""
        self._open.discard((work, text))


class TappedHttpClient:
    """A client of other servers (`framework.handle.HttpClient`) that tells the taps the answers.

    Answers to a plugin are private unless its class says that they are measurements
    (`Plugin.records_http`).
    """

    def __init__(
        self,
        client: HttpClient,
        taps: Taps,
        *,
        records: bool = False,
        requests: OpenRequests | None = None,
    ) -> None:
        self._client = client
        self._taps = taps
        self._records = records
        self._requests = OpenRequests() if requests is None else requests

    def for_plugin(self, plugin: type[Plugin]) -> TappedHttpClient:
        """Return the client of a plugin."""
        return TappedHttpClient(
            self._client, self._taps, records=plugin.records_http, requests=self._requests
        )

    async def get(
        self,
        url: str,
        *,
        token: str = "",
        ca_file: str = "",
        insecure: bool = False,
        timeout: float = 10.0,
        max_bytes: int = 2**24,
    ) -> HttpAnswer:
        """Return the answer to GET, whatever its status."""
        work = running_work()
        request = self._requests.begin(work, url)
        try:
            answer = await self._client.get(
                url,
                token=token,
                ca_file=ca_file,
                insecure=insecure,
                timeout=timeout,
                max_bytes=max_bytes,
            )
        except Exception as error:
            text = error_message(error).replace(url, safe_url(url))
            self._taps.fetched(request, None, text, work)
            raise
        finally:
            self._requests.end(work, request)
        kept = answer if self._records else PrivateAnswer(answer.status, answer.body)
        self._taps.fetched(request, kept, "", work)
        return answer
