"""ClientAuthorities: the trusted authorities of client certificates, from files or the cluster."""

# apiserver: pkg/server/options/authentication.go, pkg/server/dynamiccertificates

from __future__ import annotations

import logging
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.errors import ApiError, ConfigError, MooringError
from mooring.serve.certificates import Authorities, parse_authorities, read_authorities
from mooring.serve.reload_problems import ReloadProblems
from mooring.serve.review_client import REQUEST_SECONDS, ReviewClient
from mooring.serve.serving_options import Authentication

log = logging.getLogger(__name__)

NAMESPACE = "kube-system"
CONFIG_MAP = "extension-apiserver-authentication"

_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"
_PLACE = f"configmap/{CONFIG_MAP} in {NAMESPACE}"


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


class ClientAuthorities:
    """The authorities of client certificates: for users, and for proxies that act for users.

    `client` reads the cluster's configuration; without it only files are used. Belongs to one event
    loop.
    """

    def __init__(self, settings: Authentication, client: ReviewClient | None = None) -> None:
        self._settings = settings
        self._client = None if settings.skip_lookup else client
        self.clients = Authorities()
        self.proxies = Authorities()
        self.headers = settings.request_headers
        self._problems = ReloadProblems("Cannot reload client authorities, keeping the old ones")

    @property
    def wanted(self) -> bool:
        """Return whether client certificates can ever be accepted."""
        settings = self._settings
        files = settings.client_ca_file or settings.request_headers.client_ca_file
        return bool(files) or self._client is not None

    @property
    def pem(self) -> bytes:
        """Return every authority as PEM text."""
        return b"\n".join(one.pem for one in (self.clients, self.proxies) if one)

    async def load(self) -> None:
        """Read everything for the first time; raise ConfigError if a failure is fatal."""
        settings = self._settings
        self._warn_of_gaps()
        if settings.client_ca_file:
            try:
                self.clients = read_authorities(settings.client_ca_file)
            except ConfigError as error:
                raise ConfigError(f"unable to load client CA provider: {error}") from None
        if settings.request_headers.client_ca_file:
            try:
                self.proxies = read_authorities(settings.request_headers.client_ca_file)
            except ConfigError as error:
                raise ConfigError(
                    f"unable to create request header authentication config: {error}"
                ) from None
        if not self._asks_cluster:
            return
        try:
            await self._look_up()
        except MooringError as error:
            if not settings.tolerate_lookup_failure:
                raise ConfigError(
                    f"unable to load configmap based request-header-client-ca-file: {error}"
                ) from None
            log.warning("Error looking up in-cluster authentication configuration: %s", error)
            log.warning(
                "Continuing without authentication configuration. "
                "This may treat all requests as anonymous."
            )
            log.warning(
                "To require authentication configuration lookup to succeed, "
                "set --authentication-tolerate-lookup-failure=false"
            )

    async def refresh(self) -> bool:
        """Read files and ConfigMap again, keeping old values on failure; return whether any differ.

        Each of them is read even if another one fails.
        """
        before = (self.clients.pem, self.proxies.pem)
        self.reload_files()
        await self.look_up()
        return before != (self.clients.pem, self.proxies.pem)

    def reload_files(self) -> None:
        """Read the files again, keeping old values on failure. May be called on any thread."""
        settings = self._settings
        if found := self._read_again(settings.client_ca_file, self.clients):
            self.clients = found
        if found := self._read_again(settings.request_headers.client_ca_file, self.proxies):
            self.proxies = found

    async def look_up(self) -> None:
        """Read the ConfigMap again, keeping old values on failure."""
        if not self._asks_cluster:
            return
        try:
            await self._look_up()
        except MooringError as error:
            self._problems.report(_PLACE, error)
        else:
            self._problems.solved(_PLACE)

    def _read_again(self, file: str, known: Authorities) -> Authorities | None:
        if not file:
            return None
        try:
            found = read_authorities(file)
        except ConfigError as error:
            self._problems.report(file, error)
            return None
        self._problems.solved(file)
        return found if found.pem != known.pem else None

    @property
    def _asks_cluster(self) -> bool:
        settings = self._settings
        both = settings.client_ca_file and settings.request_headers.client_ca_file
        return self._client is not None and not both

    def _warn_of_gaps(self) -> None:
        settings = self._settings
        if self._client is not None or settings.skip_lookup:
            return
        for file, key, what in (
            (settings.client_ca_file, "client-ca-file", "client"),
            (
                settings.request_headers.client_ca_file,
                "requestheader-client-ca-file",
                "request-header client",
            ),
        ):
            if not file:
                log.warning(
                    f"No authentication-kubeconfig provided in order to lookup {key} in {_PLACE}, "
                    f"so {what} certificate authentication won't work."
                )

    async def _look_up(self) -> None:
        assert self._client is not None
        body = await self._client.request("GET", _PATH, timeout=REQUEST_SECONDS)
        try:
            data = msgspec.json.decode(body, type=_ConfigMap).data
        except msgspec.MsgspecError as error:
            raise ApiError(500, f"{_PLACE} cannot be read: {error}") from None
        if not self._settings.client_ca_file and data.get("client-ca-file"):
            self.clients = _parse(data, "client-ca-file")
        if self._settings.request_headers.client_ca_file:
            return
        if data.get("requestheader-client-ca-file"):
            self.proxies = _parse(data, "requestheader-client-ca-file")
            self.headers = replace(
                self.headers,
                allowed_names=_names(data, "requestheader-allowed-names"),
                username_headers=_names(data, "requestheader-username-headers"),
                uid_headers=_names(data, "requestheader-uid-headers"),
                group_headers=_names(data, "requestheader-group-headers"),
                extra_prefixes=_names(data, "requestheader-extra-headers-prefix"),
            )


def _parse(data: dict[str, str], key: str) -> Authorities:
    return parse_authorities(data[key].encode(), f"{key} of {_PLACE}")


def _names(data: dict[str, Any], key: str) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(data.get(key) or "[]", type=tuple[str, ...])
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{key} of {_PLACE}: {error}") from None
