"""The OpenAPI documents of the served resources, built at the first request."""

from __future__ import annotations

from mooring.apiserver.http import ApiRequest, ApiResponse, accepted, answer
from mooring.apiserver.resource_store import encode
from mooring.apiserver.resource_table import Catalogue
from mooring.apiserver.schema import openapi
from mooring.apiserver.schema.custom_schema import CustomKind
from mooring.apiserver.schema.openapi_v2 import document_v2

_V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_V2_NAMES = (_V2_TYPE, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")


class Documents:
    """The handler of `/openapi`; a document is cached until its resources change."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._made: dict[str, tuple[str, bytes]] = {}

    def _custom(self) -> dict[str, list[CustomKind]]:
        found: dict[str, list[CustomKind]] = {}
        for served in self._catalogue:
            if served.custom is not None:
                found.setdefault(served.group_version, []).append(served.custom)
        return found

    def serve(self, request: ApiRequest, parts: list[str]) -> ApiResponse | None:
        """Return the response for a path under `/openapi`, or None if it does not exist."""
        if parts == ["openapi", "v3"]:
            return answer(openapi.index(self._group_versions(), self._custom()))
        if parts == ["openapi", "v2"]:
            return self._v2(request)
        if parts[:2] != ["openapi", "v3"]:
            return None
        core = parts[2:3] == ["api"]
        group_version = "/".join(parts[3:])
        if core == ("/" in group_version) or not self._has(group_version):
            return None
        return self._v3(group_version)

    def _group_versions(self) -> list[str]:
        names = {one.group_version: None for one in self._catalogue if one.custom is None}
        return list(names)

    def _has(self, group_version: str) -> bool:
        group, _, version = group_version.rpartition("/")
        return self._catalogue.has(group, version)

    def _v3(self, group_version: str) -> ApiResponse:
        custom = self._custom().get(group_version, [])
        digest = openapi.document_hash(group_version, custom)
        kept = self._made.get(group_version)
        if kept is None or kept[0] != digest:
            kept = (digest, encode(openapi.document(group_version, custom)))
            self._made[group_version] = kept
        response = ApiResponse(200, kept[1])
        response.headers["ETag"] = f'"{digest}"'
        return response

    def _v2(self, request: ApiRequest) -> ApiResponse:
        wanted = {clause.type for clause in accepted(request.headers.get("accept", ""))}
        if wanted and not wanted & {*_V2_NAMES, "*/*", "application/*"}:
            return answer({"swagger": "2.0", "info": {"title": "Kubernetes"}, "paths": {}})
        return ApiResponse(200, document_v2(), _V2_TYPE)
