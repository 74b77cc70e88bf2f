"""The API server of a local cluster, with its certificates, its data and its kubeconfig."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec

from mooring.apiserver import bootstrap, custom_resource_definitions
from mooring.apiserver import kubeconfig_writer as kubeconfig
from mooring.apiserver.api import Api
from mooring.apiserver.auth.certificate_authority import Authority, load_key, new_key
from mooring.apiserver.auth.tokens import TokenSigner
from mooring.apiserver.expiry import TTL, EventExpiry
from mooring.apiserver.listener import ApiListener, tls
from mooring.apiserver.namespaces import NamespaceLifecycle
from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.resource_table import Catalogue
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.sqlite_journal import SqliteJournal
from mooring.controlplane.type_table import types
from mooring.errors import ConfigError


class ServerSettings(msgspec.Struct, frozen=True):
    """The settings of an API server."""

    host: str = "127.0.0.1"
    port: int = 0
    kubeconfig: Path = Path(".mooring/kubeconfig")
    data_dir: Path | None = None
    #: Group versions to serve besides the default ones, such as `resource.k8s.io/v1beta2`.
    enabled: tuple[str, ...] = ()
    #: The enabled feature gates, of those that the server knows: pod groups and devices.
    features: frozenset[str] = frozenset()
    #: Seconds for which an Event is kept after its last change.
    event_ttl: float = TTL.total_seconds()


class ApiServer:
    """An API server in this process.

    Its `api` handles requests from the start; the socket is open after `start`.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Open the data folder, if there is one; raise ConfigError if it cannot be used."""
        self._settings = settings
        folder = settings.data_dir
        try:
            journal = SqliteJournal(folder) if folder is not None else None
            self.authority = Authority(folder)
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(folder)) from None
        features = settings.features
        catalogue = Catalogue(types(), settings.enabled, features)
        self.cluster = ServerState(ResourceStore(journal), catalogue, features=features)
        key = load_key(folder / "sa.key") if folder is not None else new_key()
        self.api = Api(self.cluster, TokenSigner(key))
        self._namespaces = NamespaceLifecycle(self.cluster)
        self._expiry = EventExpiry(self.cluster, datetime.timedelta(seconds=settings.event_ttl))
        self._server = ApiListener(self.api.handle)
        self.url = ""

    async def start(self) -> None:
        """Create the initial objects and start listening.

        Raise ConfigError if the address cannot be used.
        """
        settings = self._settings
        custom_resource_definitions.load(self.cluster)
        bootstrap.fill(self.cluster, self.authority.pem)
        self._namespaces.start()
        self._expiry.start()
        context = tls(self.authority, settings.host)
        try:
            port = await self._server.start(settings.host, settings.port, context)
        except OSError as error:
            why = error.strerror or str(error)
            raise ConfigError(f"cannot listen on {settings.host}:{settings.port}: {why}") from None
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.url = f"https://{host}:{port}"

    def publish_authority(self) -> None:
        """Create the ConfigMap with the server's CA certificate in every namespace."""
        self._namespaces.publish(self.authority.pem)

    def write_kubeconfig(self) -> None:
        """Write the administrator's kubeconfig."""
        settings = self._settings
        admin = self.authority.client("kubernetes-admin", ("system:masters",))
        path = settings.kubeconfig
        try:
            kubeconfig.write(path, self.url, self.authority.pem, admin)
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(path)) from None

    async def stop(self) -> None:
        """Stop serving and close the store; a data folder keeps every acknowledged write."""
        await self._server.stop()
        await self._namespaces.stop()
        await self._expiry.stop()
        self.cluster.store.close()
