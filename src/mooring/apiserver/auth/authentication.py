"""Authentication: client certificates, bearer tokens and impersonation."""

# apiserver: pkg/endpoints/filters/authentication.go

from __future__ import annotations

from mooring.apiserver import refusals
from mooring.apiserver.auth.authorization import Authorizer, attributes
from mooring.apiserver.auth.impersonation import (
    AUTHENTICATED,
    UNAUTHENTICATED,
    Impersonator,
    wanted_user,
    with_group,
)
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.http import ANONYMOUS, ApiRequest, RequestUser
from mooring.apiserver.request_paths import read
from mooring.apiserver.server_state import ServerState


class Authenticator:
    """The authenticator of requests."""

    def __init__(self, cluster: ServerState, signer: TokenSigner, authorizer: Authorizer) -> None:
        self._cluster = cluster
        self._signer = signer
        self._impersonator = Impersonator(authorizer)
        #: Tokens that are valid until the process ends.
        self.static: dict[str, RequestUser] = {}

    def identify(self, request: ApiRequest) -> RequestUser:
        """Return the user of a request; refuse invalid credentials."""
        user = self._sender(request)
        # apiserver: pkg/authentication/group/authenticated_group_adder.go
        if user.name != ANONYMOUS.name and UNAUTHENTICATED not in user.groups:
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
        wanted = wanted_user(request.headers)
        if wanted is None:
            return user
        return self._impersonator.impersonated(wanted, attributes(user, read(request)))
