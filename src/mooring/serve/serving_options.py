"""The serving options from the flags: where, with which certificates, and for whom."""

from __future__ import annotations

import msgspec


class CertKey(msgspec.Struct, frozen=True):
    """The files of a certificate and its key, and its names; by default the certificate's own."""

    certificate: str
    key: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        suffix = f":{','.join(self.names)}" if self.names else ""
        return f"{self.certificate},{self.key}{suffix}"


class SecureServing(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how HTTPS is served; port 0 disables it."""

    bind_address: str = "0.0.0.0"
    port: int = 10259
    cert_dir: str = ""
    #: The name of the files in `cert_dir`, without .crt and .key.
    pair_name: str = "kube-scheduler"
    #: Further names and addresses of a self-signed certificate.
    hosts: tuple[str, ...] = ()
    certificate_file: str = ""
    key_file: str = ""
    sni: tuple[CertKey, ...] = ()
    cipher_suites: tuple[str, ...] = ()
    min_version: str = ""
    permit_address_sharing: bool = False
    permit_port_sharing: bool = False


class InsecureServing(msgspec.Struct, frozen=True, kw_only=True):
    """Where plain HTTP is served to everyone; port 0 disables it."""

    address: str = "0.0.0.0"
    port: int = 0


class RequestHeaders(msgspec.Struct, frozen=True, kw_only=True):
    """Which proxies may name the user of a request in headers, and in which headers."""

    client_ca_file: str = ""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


class Authentication(msgspec.Struct, frozen=True, kw_only=True):
    """How clients are authenticated; times are in seconds."""

    kubeconfig: str = ""
    skip_lookup: bool = False
    tolerate_lookup_failure: bool = True
    cache_seconds: float = 10.0
    client_ca_file: str = ""
    request_headers: RequestHeaders = RequestHeaders()


class Authorization(msgspec.Struct, frozen=True, kw_only=True):
    """How requests are authorized; times are in seconds."""

    kubeconfig: str = ""
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    allow_seconds: float = 10.0
    deny_seconds: float = 10.0
