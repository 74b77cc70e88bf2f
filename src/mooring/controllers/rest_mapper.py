"""RestMapper: the path under which the server serves a kind."""

from __future__ import annotations

import msgspec

from mooring.api import CustomResource
from mooring.client.client import Client
from mooring.client.resources import Resource
from mooring.errors import ApiError


class RestMapper:
    """A cache of the server's resources by kind; it requests each group version once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[tuple[str, str], tuple[Resource, bool]] = {}

    async def find(self, api_version: str, kind: str) -> tuple[Resource, bool] | None:
        """Return the resource of a kind and whether it is namespaced; None if it is not served."""
        known = self._known.get((api_version, kind))
        if known is not None:
            return known
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            answer = msgspec.json.decode(await self._client.request("GET", path))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        group, _, version = api_version.rpartition("/")
        for one in answer.get("resources", ()):
            if "/" not in one["name"]:
                resource = Resource(group, version, one["name"], CustomResource)
                self._known[api_version, one["kind"]] = (resource, one["namespaced"])
        return self._known.get((api_version, kind))
