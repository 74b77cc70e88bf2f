"""Authentication: who sent a request, by certificate, by a proxy's headers, or by token."""

# apiserver: pkg/authentication/authenticatorfactory/delegating.go, request/x509,
# request/headerrequest, request/bearertoken

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from multidict import CIMultiDictProxy

from mooring.errors import ApiError
from mooring.observe.logs import log_error
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.certificates import common_name, organizations, user_id
from mooring.serve.review_client import TokenReviews
from mooring.serve.serving_options import RequestHeaders
from mooring.serve.users import ANONYMOUS, ReviewedUser, authenticated

log = logging.getLogger(__name__)

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"

Headers = CIMultiDictProxy[str]


class DelegatingAuthenticator:
    """An authenticator of requests. If no method is configured, all requests are anonymous."""

    def __init__(self, authorities: ClientAuthorities, tokens: TokenReviews | None) -> None:
        self._authorities = authorities
        self._tokens = tokens

    async def user(
        self, headers: Headers, certificate: x509.Certificate | None
    ) -> ReviewedUser | None:
        """Return the user of a request; None if it carries credentials that are not valid."""
        problems: list[str | ApiError] = []
        if certificate is not None:
            found = self._by_proxy(headers, certificate, problems)
            found = found or self._by_certificate(certificate, problems)
            if found is not None:
                return authenticated(found)
        token = _bearer_token(headers)
        if token and self._tokens is not None:
            try:
                by_token = await self._tokens.user(token)
            except ApiError as error:
                problems.append(error)
            else:
                if by_token is not None:
                    return authenticated(by_token)
                problems.append("invalid bearer token")
        for problem in problems:
            log_error(log, problem, "Unable to authenticate the request")
        return None if problems else ANONYMOUS

    def _by_proxy(
        self,
        headers: Headers,
        certificate: x509.Certificate,
        problems: list[str | ApiError],
    ) -> ReviewedUser | None:
        known = self._authorities
        if not known.proxies:
            return None
        if not known.proxies.issued(certificate):
            problems.append("x509: certificate signed by unknown authority")
            return None
        allowed, name = known.headers.allowed_names, common_name(certificate)
        if allowed and name not in allowed:
            problems.append(f"x509: subject with cn={name} is not in the allowed list")
            return None
        return user_of_headers(headers, known.headers)

    def _by_certificate(
        self, certificate: x509.Certificate, problems: list[str | ApiError]
    ) -> ReviewedUser | None:
        if not self._authorities.clients:
            return None
        if not self._authorities.clients.issued(certificate):
            problems.append("x509: certificate signed by unknown authority")
            return None
        name = common_name(certificate)
        if not name:
            return None
        fingerprint = hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()
        return ReviewedUser(
            name,
            user_id(certificate),
            organizations(certificate),
            {CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)},
        )


def user_of_headers(headers: Headers, settings: RequestHeaders) -> ReviewedUser | None:
    """Return the user that a trusted proxy names; None if it names none."""
    name = _first(headers, settings.username_headers)
    if not name:
        return None
    groups = tuple(
        value for header in settings.group_headers for value in headers.getall(header, ()) if value
    )
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in settings.extra_prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                key = unquote(header[len(prefix) :].lower())
                extra[key] = (*extra.get(key, ()), value)
    return ReviewedUser(name, _first(headers, settings.uid_headers), groups, extra)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def _bearer_token(headers: Headers) -> str:
    scheme, _, token = headers.get("Authorization", "").strip().partition(" ")
    # Anything after another space is not part of the token.
    return token.split(" ")[0] if scheme.lower() == "bearer" else ""
