"""Writer: reads and writes objects as plain JSON, so that no field is lost."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from mooring.api import KubeObject, ObjectMeta, encode
from mooring.client.client import MERGE, Client
from mooring.client.resources import Resource
from mooring.errors import ApiError

Object = dict[str, Any]

BACKGROUND, FOREGROUND, ORPHAN = "Background", "Foreground", "Orphan"


class HasMetadata(Protocol):
    """Anything with an object's metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Return the name, namespace, uid and the rest."""
        ...


class Writer:
    """A client for objects in their JSON form. Every call raises ApiError if it is refused."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, resource: Resource, obj: Object) -> Object:
        """Create an object and return it as the server stored it."""
        path = resource.path(obj["metadata"].get("namespace", ""))
        return await self._send("POST", path, obj)

    async def get(
        self, resource: Resource, namespace: str, name: str, subresource: str = ""
    ) -> Object:
        """Read an object, or a subresource of it, from the server."""
        return await self._send("GET", resource.path(namespace, name, subresource), None)

    async def replace(self, resource: Resource, obj: Object, subresource: str = "") -> Object:
        """Replace an object, or its status; the server refuses if it has changed meanwhile."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        return await self._send("PUT", path, obj)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Object,
        subresource: str = "",
        patch_type: str = MERGE,
    ) -> Object:
        """Patch an object; a resourceVersion in the patch limits it to that version."""
        path = resource.path(namespace, name, subresource)
        return await self._send("PATCH", path, patch, patch_type)

    async def change(
        self,
        resource: Resource,
        old: KubeObject,
        new: KubeObject,
        subresource: str = "",
        version: str = "",
    ) -> Object | None:
        """Write how two states of an object differ, without or with its status.

        Return the object as stored, or None if the states are equal. With `version`, the server
        refuses if the object has another resourceVersion.
        """
        if new == old:
            return None
        patch = difference(encode(old), encode(new))
        status = patch.pop("status", None)
        if subresource:
            patch = {} if status is None else {"status": status}
        if not patch:
            return None
        if version:
            patch.setdefault("metadata", {})["resourceVersion"] = version
        metadata = old.metadata
        return await self.patch(resource, metadata.namespace, metadata.name, patch, subresource)

    async def patch_if_there(
        self, resource: Resource, namespace: str, name: str, patch: Object, subresource: str = ""
    ) -> None:
        """Apply a merge patch to an object; do nothing if the object is gone."""
        try:
            await self.patch(resource, namespace, name, patch, subresource)
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def delete(
        self,
        resource: Resource,
        obj: HasMetadata,
        *,
        policy: str = "",
        grace: int | None = None,
        unchanged: bool = False,
    ) -> None:
        """Delete the object with this uid; do nothing if it is already gone.

        With `unchanged`, the server refuses if the object has changed since it was read.
        """
        metadata = obj.metadata
        options: Object = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": metadata.uid},
        }
        if unchanged:
            options["preconditions"]["resourceVersion"] = metadata.resource_version
        if policy:
            options["propagationPolicy"] = policy
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        path = resource.path(metadata.namespace, metadata.name)
        try:
            await self._send("DELETE", path, options)
        except ApiError as error:
            # A conflict means that the name now belongs to another object, so this one is gone.
            if not error.is_not_found and (unchanged or not error.is_conflict):
                raise

    async def _send(
        self, method: str, path: str, body: Object | None, content_type: str = "application/json"
    ) -> Object:
        data = b"" if body is None else msgspec.json.encode(body)
        answer = await self._client.request(method, path, data, content_type)
        found: Object = msgspec.json.decode(answer)
        return found


def difference(old: Object, new: Object) -> Object:
    """Return the merge patch that turns one object into the other."""
    patch: Object = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            value = difference(before, value)
            if value:
                patch[key] = value
        elif value != before:
            patch[key] = value
    return patch
