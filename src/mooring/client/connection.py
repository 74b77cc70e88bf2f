"""Connection: everything needed to reach an API server and authenticate to it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from mooring.client.credentials import Credentials, Static
from mooring.client.tls_settings import TlsSettings
from mooring.errors import ConfigError
from mooring.observe.clock import Clock


def anonymous(clock: Clock) -> Credentials:
    """Return credentials of an anonymous user."""
    return Static()


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server and how to authenticate to it.

    `credentials` creates credentials for one event loop; `headers` are sent with every request (for
    impersonation, one pair per value).
    """

    server: str
    tls: TlsSettings = TlsSettings()
    credentials: Callable[[Clock], Credentials] = anonymous
    headers: tuple[tuple[str, str], ...] = ()
    proxy: str = ""
    compression: bool = True
    #: The namespace of the context, for commands that need one.
    namespace: str = "default"
    #: Where this was read: the files of the kubeconfig, or the pod's service account.
    source: str = ""
    #: The names that the kubeconfig gives to the context and its cluster.
    context: str = ""
    cluster: str = ""


def server_url(server: str, tls: TlsSettings) -> str:
    """Complete a server's address as client-go does, without a trailing slash."""
    # client-go: rest/url_utils.go, DefaultServerURL
    if "://" not in server:
        secured = bool(tls.authority or tls.key_pair or tls.insecure)
        server = f"{'https' if secured else 'http'}://{server}"
    try:
        parts = urlsplit(server)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(f"server must be a URL or a valid host:port pair, got {server!r}")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def is_secure(server: str) -> bool:
    """Return whether credentials may be sent to a server."""
    return server.startswith("https://")
