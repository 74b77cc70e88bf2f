"""TappedClient and TappedHttpClient: what plugins reach servers with, if taps listen.

Plugins keep what they are answered: measurements that they fetch beside the cycle, or the claim
that PreBind has written, which counts before the informer has it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from mooring.api import Pod
from mooring.client.resources import find_resource
from mooring.framework.handle import ApiClient, HttpAnswer, HttpClient, ListedObjects
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


class TappedHttpClient:
    """A client of other servers (`framework.handle.HttpClient`) that tells the taps the answers."""

    def __init__(self, client: HttpClient, taps: Taps) -> None:
        self._client = client
        self._taps = taps

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
            self._taps.fetched(f"GET {url}", None, error_message(error), running_work())
            raise
        self._taps.fetched(f"GET {url}", answer, "", running_work())
        return answer
