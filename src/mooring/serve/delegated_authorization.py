"""Authorization: which paths a user may read."""

# apiserver: pkg/server/options/authorization.go, pkg/authorization/path, pkg/authorization/union

from __future__ import annotations

import logging

from mooring.errors import ConfigError
from mooring.serve.review_client import Access, AccessReviews, ResourceAttributes
from mooring.serve.users import MASTERS, ReviewedUser

log = logging.getLogger(__name__)

NO_KUBECONFIG = (
    "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens "
    "won't work."
)


class AllowedPaths:
    """Paths that everyone may read; a `*` at the end matches any rest."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        bare = [path.removeprefix("/") for path in paths]
        for path in bare:
            if "*" in path[:-1]:
                raise ConfigError(f'only trailing * allowed in "{path}"')
        self._paths = frozenset(path for path in bare if not path.endswith("*"))
        self._prefixes = tuple(path[:-1] for path in bare if path.endswith("*"))

    def __contains__(self, path: str) -> bool:
        bare = path.removeprefix("/")
        return bare in self._paths or bare.startswith(self._prefixes)


class DelegatingAuthorizer:
    """An authorizer of requests for paths, and of what they show of resources.

    Without reviews only administrators are allowed, except on the paths that everyone may read.
    """

    def __init__(self, paths: tuple[str, ...], reviews: AccessReviews | None) -> None:
        self._paths = AllowedPaths(paths)
        self._reviews = reviews

    async def access(self, user: ReviewedUser, verb: str, path: str) -> Access:
        """Return whether the user is allowed; raise ApiError if the server cannot decide."""
        if MASTERS in user.groups or path in self._paths:
            return Access(allowed=True)
        if self._reviews is None:
            return Access()
        return await self._reviews.access(user, verb, path)

    async def resource_access(self, user: ReviewedUser, asked: ResourceAttributes) -> Access:
        """Return whether the user is allowed; raise ApiError if the server cannot decide."""
        if MASTERS in user.groups:
            return Access(allowed=True)
        if self._reviews is None:
            return Access()
        return await self._reviews.resource_access(user, asked)


class ReviewedReader:
    """A user whose rights to explanations are reviewed (`explanations.ExplanationReader`)."""

    def __init__(self, user: ReviewedUser, authorizer: DelegatingAuthorizer) -> None:
        self.name = user.name
        self._user = user
        self._authorizer = authorizer

    async def may_get_path(self, path: str) -> bool:
        """Return whether the user may get a path."""
        return (await self._authorizer.access(self._user, "get", path)).is_granted

    async def may_get_pod(self, namespace: str, name: str) -> bool:
        """Return whether the user may get a pod, or without a name every pod of a namespace."""
        return await self._may(
            ResourceAttributes(verb="get", resource="pods", namespace=namespace, name=name)
        )

    async def may_list_nodes(self) -> bool:
        """Return whether the user may list nodes."""
        return await self._may(ResourceAttributes(verb="list", resource="nodes"))

    async def _may(self, asked: ResourceAttributes) -> bool:
        return (await self._authorizer.resource_access(self._user, asked)).is_granted
