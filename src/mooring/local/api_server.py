"""The API server of a local cluster with its certificates and its files, started as one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mooring.errors import ConfigError
from mooring.local import bootstrap, definitions, kubeconfig
from mooring.local.api import Api
from mooring.local.certificates import Authority, load_key, new_key
from mooring.local.cluster import Cluster
from mooring.local.expiry import EventExpiry
from mooring.local.journal import SqliteJournal
from mooring.local.namespaces import NamespaceLifecycle
from mooring.local.resources import Catalogue
from mooring.local.schema.table import types
from mooring.local.server import Server, tls
from mooring.local.store import Store
from mooring.local.tokens import Signer


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Hold how an API server is to be run."""

    host: str = "127.0.0.1"
    port: int = 0
    kubeconfig: Path = Path(".mooring/kubeconfig")
    data_dir: Path | None = None
    enabled: tuple[str, ...] = ()
    """Group versions to serve beyond the default ones, `scheduling.k8s.io/v1alpha2`."""


class ApiServer:
    """Run an API server in this process.

    It can be asked through its `api` from the start, and through a socket from `start` on.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Raise ConfigError where the folder cannot be used."""
        self._settings = settings
        folder = settings.data_dir
        try:
            journal = SqliteJournal(folder) if folder is not None else None
            self.authority = Authority(folder)
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(folder)) from None
        self.cluster = Cluster(Store(journal), Catalogue(types(), settings.enabled))
        key = load_key(folder / "sa.key") if folder is not None else new_key()
        self.api = Api(self.cluster, Signer(key))
        self._namespaces = NamespaceLifecycle(self.cluster)
        self._expiry = EventExpiry(self.cluster)
        self._server = Server(self.api.handle)
        self.url = ""

    async def start(self) -> None:
        """Serve."""
        settings = self._settings
        definitions.load(self.cluster)
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
        """Give every namespace what its pods need to trust the server."""
        self._namespaces.publish(self.authority.pem)

    def write_kubeconfig(self) -> None:
        """Write the file with which an administrator reaches the server."""
        settings = self._settings
        admin = self.authority.client("kubernetes-admin", ("system:masters",))
        path = settings.kubeconfig
        try:
            kubeconfig.write(path, self.url, self.authority.pem, admin)
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=str(path)) from None

    async def stop(self) -> None:
        """End, with everything that was acknowledged kept where a folder was given."""
        await self._server.stop()
        await self._namespaces.stop()
        await self._expiry.stop()
        self.cluster.store.close()
