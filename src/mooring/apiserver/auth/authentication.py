"""Authentication: client certificates, bearer tokens and impersonation."""

# apiserver: pkg/endpoints/filters/{authentication,impersonation}.go

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from mooring.apiserver import refusals
from mooring.apiserver.auth.authorization import Attributes, Authorizer
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.http import ANONYMOUS, ApiRequest, RequestUser
from mooring.apiserver.server_state import ServerState

AUTHENTICATED = "system:authenticated"
_EXTRA = "impersonate-extra-"


class Authenticator:
    """The authenticator of requests."""

    def __init__(self, cluster: ServerState, signer: TokenSigner, authorizer: Authorizer) -> None:
        self._cluster = cluster
        self._signer = signer
        self._authorizer = authorizer
        #: Tokens that are valid until the process ends.
        self.static: dict[str, RequestUser] = {}

    def identify(self, request: ApiRequest) -> RequestUser:
        """Return the user of a request; refuse invalid credentials."""
        user = self._sender(request)
        if user is not ANONYMOUS:
            user = with_group(user, AUTHENTICATED)
        return self._impersonated(request, user)

    def _sender(self, request: ApiRequest) -> RequestUser:
        if request.certificate is not None:
            return request.certificate
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return ANONYMOUS
        user = self.token_user(token.strip())
        if user is None:
            raise refusals.unauthorized()
        return user

    def token_user(self, token: str, audiences: tuple[str, ...] = ()) -> RequestUser | None:
        """Return the user of a token, None if it is not valid."""
        known = self.static.get(token)
        if known is not None:
            return known
        if audiences:
            return self._signer.user(self._cluster, token, audiences)
        return self._signer.user(self._cluster, token)

    def _impersonated(self, request: ApiRequest, user: RequestUser) -> RequestUser:
        name = request.headers.get("impersonate-user", "")
        groups = [one.strip() for one in _values(request, "impersonate-group")]
        uid = request.headers.get("impersonate-uid", "")
        extra = {
            unquote(key.removeprefix(_EXTRA)): tuple(_values(request, key))
            for key in request.headers
            if key.startswith(_EXTRA)
        }
        if not name:
            if groups or uid or extra:
                raise refusals.internal(
                    f"requested {groups or uid or extra} without impersonating a user"
                )
            return user
        namespace, account = _account(name)
        if account:
            self._allow(user, "serviceaccounts", account, namespace=namespace)
        else:
            self._allow(user, "users", name)
        for group in groups:
            self._allow(user, "groups", group)
        if uid:
            self._allow(user, "uids", uid, "authentication.k8s.io")
        for key, values in extra.items():
            for value in values:
                self._allow(user, "userextras", value, "authentication.k8s.io", part=key)
        if account and not groups:
            groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
        asked = RequestUser(name, tuple(groups), uid, extra)
        if name == ANONYMOUS.name:
            return with_group(asked, ANONYMOUS.groups[0])
        return with_group(asked, AUTHENTICATED)

    def _allow(
        self,
        user: RequestUser,
        resource: str,
        name: str,
        group: str = "",
        namespace: str = "",
        part: str = "",
    ) -> None:
        asked = Attributes(user, "impersonate", group, "", resource, part, namespace, name)
        if not self._authorizer.allows(asked):
            raise self._authorizer.refusal(asked)


def _values(request: ApiRequest, name: str) -> Iterator[str]:
    # The listener joins the values of a repeated header with newlines.
    yield from (one for one in request.headers.get(name, "").split("\n") if one)


def _account(name: str) -> tuple[str, str]:
    parts = name.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return parts[2], parts[3]
    return "", ""


def with_group(user: RequestUser, group: str) -> RequestUser:
    """Return the user with a group added, unless the user is already in it."""
    if group in user.groups:
        return user
    return RequestUser(user.name, (*user.groups, group), user.uid, user.extra)
