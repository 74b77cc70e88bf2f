"""Explanations of the cluster's own scheduler, with the rights that RBAC gives to a user."""

from __future__ import annotations

from urllib.parse import unquote

from mooring.apiserver.auth.authorization import Attributes, Authorizer
from mooring.apiserver.http import JSON, ApiRequest, ApiResponse, RequestUser
from mooring.serve.explain_paths import ROOT, ExplainPaths, ExplainRequest


class LocalReader:
    """A user of the API server (`serve.explanations.ExplanationReader`)."""

    def __init__(self, user: RequestUser, authorizer: Authorizer) -> None:
        self.name = user.name
        self._user = user
        self._authorizer = authorizer

    async def may_get_path(self, path: str) -> bool:
        """Return whether the user may get a path."""
        return self._authorizer.allows(Attributes(self._user, "get", path=path))

    async def may_get_pod(self, namespace: str, name: str) -> bool:
        """Return whether the user may get a pod, or without a name every pod of a namespace."""
        return self._authorizer.allows(
            Attributes(
                self._user, "get", version="v1", resource="pods", namespace=namespace, name=name
            )
        )

    async def may_list_nodes(self) -> bool:
        """Return whether the user may list nodes."""
        return self._authorizer.allows(
            Attributes(self._user, "list", version="v1", resource="nodes")
        )


def explains(request: ApiRequest) -> bool:
    """Return whether a request is one for explanations."""
    return request.path == ROOT or request.path.startswith(f"{ROOT}/")


async def explain(paths: ExplainPaths, authorizer: Authorizer, request: ApiRequest) -> ApiResponse:
    """Return the response to a request for explanations."""
    asked = ExplainRequest(
        request.method,
        unquote(request.path),
        request.query,
        request.headers.get("last-event-id", ""),
    )
    found = await paths.answer(asked, LocalReader(request.user, authorizer))
    headers = {name: value for name, value in found.headers.items() if name != "Content-Type"}
    kind = found.headers.get("Content-Type", JSON)
    return ApiResponse(found.code, found.body, kind, headers, found.stream)
