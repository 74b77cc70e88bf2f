"""The connection of a pod to the API server of its cluster."""

# client-go: rest/config.go, InClusterConfig

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from mooring.client.connection import Connection
from mooring.client.credentials import TokenFile
from mooring.client.tls_settings import Pem, TlsSettings
from mooring.errors import ConfigError
from mooring.observe.files import locate, read_file

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NOT_IN_CLUSTER = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
    "KUBERNETES_SERVICE_PORT must be defined"
)


def in_cluster_connection(
    environment: Mapping[str, str] = os.environ, folder: Path = SERVICE_ACCOUNT
) -> Connection:
    """Return the connection that Kubernetes gives to every pod.

    Token and certificate authority are read again when they are renewed on disk.
    """
    host, port = (environment.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT"))
    if not host or not port:
        raise ConfigError(NOT_IN_CLUSTER)
    token = folder / "token"
    try:
        read_file(token)
    except OSError as error:
        raise ConfigError(f"failed to read token file {token}: {error.strerror}") from None
    authority = folder / "ca.crt"
    trusted = Pem(file=str(authority)) if locate(authority).exists() else Pem()
    return Connection(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        tls=TlsSettings(authority=trusted),
        credentials=lambda clock: TokenFile(str(token), clock),
        namespace=_namespace(environment, folder),
        source=f"the pod's service account, {folder}",
    )


def _namespace(environment: Mapping[str, str], folder: Path) -> str:
    if named := environment.get("POD_NAMESPACE"):
        return named
    try:
        return read_file(folder / "namespace").decode().strip() or "default"
    except (OSError, UnicodeError):
        return "default"
