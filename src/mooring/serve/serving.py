"""Serving: builds everything behind the ports from the settings."""

# kube-scheduler: cmd/kube-scheduler/app/options/options.go (ApplyTo); apiserver
# pkg/server/options/authentication.go, authorization.go (getClient)

from __future__ import annotations

import logging
import socket

import msgspec

from mooring.client.client import Client
from mooring.client.in_cluster import NOT_IN_CLUSTER, in_cluster_connection
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.rate_limit import rate_limit
from mooring.client.transports import make_transport
from mooring.errors import ConfigError
from mooring.observe.clock import Clock
from mooring.serve.authorities import ClientAuthorities
from mooring.serve.delegated_authentication import DelegatingAuthenticator
from mooring.serve.delegated_authorization import (
    NO_KUBECONFIG,
    DelegatingAuthorizer,
    ReviewedReader,
)
from mooring.serve.endpoints import Endpoints, Sources
from mooring.serve.review_client import AccessReviews, TokenReviews
from mooring.serve.secure_server import Gate, SecureServer, listen, listen_insecurely
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    SecureServing,
)
from mooring.serve.serving_tls import ServingTls

log = logging.getLogger(__name__)

# High, because the sender of a request waits for its reviews.
_QPS = 200.0
_BURST = 400


class ServingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings for serving, from the flags."""

    secure: SecureServing = SecureServing()
    insecure: InsecureServing = InsecureServing()
    authentication: Authentication = Authentication()
    authorization: Authorization = Authorization()


class Serving:
    """The servers that the settings ask for.

    `listen` may be called anywhere and opens the ports at once; `start` and `stop` belong to the
    loop that serves.
    """

    def __init__(self, settings: ServingSettings, sources: Sources, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._endpoints = Endpoints(sources, clock)
        self._server = SecureServer(self._endpoints, clock)
        self._clients: list[Client] = []
        self._secure: socket.socket | None = None
        self._insecure: socket.socket | None = None
        self._tls: ServingTls | None = None

    @property
    def certificate_sha256(self) -> str:
        """Return the SHA-256 of the serving certificate; empty if HTTPS is not served."""
        return "" if self._tls is None else self._tls.certificate_sha256

    def listen(self) -> None:
        """Open the ports; raise ConfigError if one is in use already."""
        self._secure = listen(self._settings.secure)
        self._insecure = listen_insecurely(self._settings.insecure)

    async def start(self) -> None:
        """Start serving; raise ConfigError if settings cannot be used."""
        if self._secure is not None:
            await self._start_securely(self._secure)
        if self._insecure is not None:
            await self._server.serve_insecurely(self._insecure)

    async def stop(self) -> None:
        """Stop serving and close the ports."""
        await self._server.stop()
        for listener in (self._secure, self._insecure):
            if listener is not None:
                listener.close()
        for client in self._clients:
            await client.close()
        self._clients.clear()

    async def _start_securely(self, listener: socket.socket) -> None:
        authentication, authorization = (
            self._settings.authentication,
            self._settings.authorization,
        )
        client = self._client(authentication.kubeconfig, "authentication")
        authorities = ClientAuthorities(authentication, client)
        await authorities.load()
        tokens = None
        if client is not None:
            tokens = TokenReviews(client, self._clock, authentication.cache_seconds)
        client = self._client(authorization.kubeconfig, "authorization")
        reviews = None
        if client is None:
            log.warning(NO_KUBECONFIG)
        else:
            allow, deny = authorization.allow_seconds, authorization.deny_seconds
            reviews = AccessReviews(client, self._clock, allow, deny)
        authorizer = DelegatingAuthorizer(authorization.always_allow_paths, reviews)
        gate = Gate(
            self._endpoints,
            DelegatingAuthenticator(authorities, tokens),
            authorizer,
            lambda user: ReviewedReader(user, authorizer),
        )
        tls = ServingTls(self._settings.secure, ask=authorities.wanted, authorities=authorities.pem)
        self._tls = tls
        await self._server.serve_securely(listener, tls, gate, authorities)

    def _client(self, kubeconfig: str, what: str) -> Client | None:
        """Return a client for reviews; None outside a cluster if no kubeconfig is given."""
        try:
            connection = load_kubeconfig(kubeconfig) if kubeconfig else in_cluster_connection()
            transport = make_transport(
                connection, user_agent=f"kube-scheduler/{what}", clock=self._clock
            )
        except ConfigError as error:
            if kubeconfig:
                raise ConfigError(f"failed to get delegated {what} kubeconfig: {error}") from None
            if error.message != NOT_IN_CLUSTER:
                log.warning(f"failed to read in-cluster kubeconfig for delegated {what}: {error}")
            return None
        client = Client(transport, limit=rate_limit(_QPS, _BURST, self._clock), clock=self._clock)
        self._clients.append(client)
        return client
