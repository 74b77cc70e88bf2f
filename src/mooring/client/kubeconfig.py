"""The connection that a kubeconfig describes."""

# client-go: tools/clientcmd/client_config.go, validation.go

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec.structs import replace

from mooring.client.connection import Connection, anonymous, is_secure, server_url
from mooring.client.credentials import Credentials, TokenFile, basic, bearer
from mooring.client.exec_plugin import V1, V1BETA1, ExecConfig, ExecPlugin
from mooring.client.in_cluster import in_cluster_connection
from mooring.client.kubeconfig_file import (
    Cluster,
    Context,
    KubeconfigFile,
    KubeconfigUser,
    default_paths,
    read_file,
    read_files,
)
from mooring.client.tls_settings import KeyPair, Pem, TlsSettings
from mooring.errors import ConfigError
from mooring.observe.clock import Clock
from mooring.observe.confinement import refuse_if_confined

NO_CONFIGURATION = "invalid configuration: no configuration has been provided; name a kubeconfig"
REMOVED_PROVIDERS = {
    "gcp": "the gcp auth plugin has been removed; "
    'use the "gke-gcloud-auth-plugin" kubectl/client-go credential plugin instead',
    "azure": "the azure auth plugin has been removed; "
    "use the kubelogin kubectl/client-go credential plugin instead",
}
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")


def connection_from_flags(
    kubeconfig: str = "", master: str = "", *, drop_in: bool = False
) -> Connection:
    """Return the connection that --kubeconfig and --master describe.

    Without either, it is the in-cluster connection of a pod. Outside a cluster it is that of
    $KUBECONFIG or ~/.kube/config, unless `drop_in` says to do as kube-scheduler does.
    """
    # client-go: tools/clientcmd/client_config.go, BuildConfigFromFlags; it fails outside a
    # cluster.
    if kubeconfig:
        return load_kubeconfig(kubeconfig, server=master)
    if master:
        return Connection(server=server_url(master, TlsSettings()), source="--master")
    try:
        return in_cluster_connection()
    except ConfigError as error:
        if drop_in:
            raise ConfigError(f"{NO_CONFIGURATION} with --kubeconfig ({error})") from None
    return load_kubeconfig()


def load_kubeconfig(
    path: str | os.PathLike[str] = "",
    *,
    context: str = "",
    server: str = "",
    environment: Mapping[str, str] = os.environ,
) -> Connection:
    """Return the connection of a context, by default the current one.

    Without a path, the files of $KUBECONFIG are merged, or ~/.kube/config is read. `server`
    replaces the cluster's server.
    """
    file = read_file(Path(path).expanduser()) if path else _read_default(environment)
    if not (file.clusters or file.users or file.contexts):
        raise ConfigError(f"{NO_CONFIGURATION} that names a cluster", file=file.where or None)
    try:
        return _connection(file, context, server)
    except ConfigError as error:
        if error.file is not None:
            raise
        raise ConfigError(error.message, path=error.path, file=file.where) from None


def _read_default(environment: Mapping[str, str]) -> KubeconfigFile:
    """Read the files of $KUBECONFIG, or ~/.kube/config; raise ConfigError if none exists."""
    paths = default_paths(environment)
    file = read_files(paths)
    if file.where:
        return file
    names = ", ".join(map(str, paths))
    if environment.get("KUBECONFIG"):
        raise ConfigError(f"$KUBECONFIG names {names}: no such file")
    raise ConfigError(
        f"{NO_CONFIGURATION} with --kubeconfig or $KUBECONFIG, or write one to {names}"
    )


def _connection(file: KubeconfigFile, context_name: str, server: str) -> Connection:
    context_name = context_name or file.current_context
    if not context_name:
        raise ConfigError("no context is chosen: current-context is not set")
    context = file.contexts.get(context_name)
    if context is None:
        raise ConfigError(f'context "{context_name}" does not exist')
    cluster, user = _parts(file, context_name, context)
    if server:
        cluster = replace(cluster, server=server)
    if not cluster.server:
        raise ConfigError(f'no server found for cluster "{context.cluster}"')
    tls = _tls(cluster, user, context)
    url = server_url(cluster.server, tls)
    # Credentials are sent over TLS or not at all.
    known = _credentials(cluster, user, context.user) if is_secure(url) else anonymous
    return Connection(
        server=url,
        tls=tls,
        credentials=known,
        headers=_impersonation(user, context.user),
        proxy=_proxy(cluster, context.cluster),
        compression=not cluster.disable_compression,
        namespace=context.namespace or "default",
        source=file.where,
        context=context_name,
        cluster=context.cluster,
    )


def _parts(file: KubeconfigFile, name: str, context: Context) -> tuple[Cluster, KubeconfigUser]:
    for word, wanted, known in (
        ("cluster", context.cluster, file.clusters),
        ("user", context.user, file.users),
    ):
        if not wanted:
            raise ConfigError(f'{word} was not specified for context "{name}"')
        if wanted not in known:
            raise ConfigError(f'{word} "{wanted}" was not found for context "{name}"')
    return file.clusters[context.cluster], file.users[context.user]


def _tls(cluster: Cluster, user: KubeconfigUser, context: Context) -> TlsSettings:
    pair = None
    if user.client_certificate or user.client_certificate_data:
        pair = KeyPair(
            Pem(user.client_certificate, user.client_certificate_data),
            Pem(user.client_key, user.client_key_data),
        )
        if not pair.key:
            raise ConfigError(
                f"client-key-data or client-key must be specified for {context.user} "
                "to use the clientCert authentication method"
            )
        for pem, word in ((pair.certificate, "client-certificate"), (pair.key, "client-key")):
            _check_readable(pem, word, context.user)
    authority = Pem(cluster.certificate_authority, cluster.certificate_authority_data)
    if cluster.insecure_skip_tls_verify and authority:
        raise ConfigError(
            "specifying a root certificates file with the insecure flag is not allowed: "
            f"cluster {context.cluster} has certificate-authority and insecure-skip-tls-verify"
        )
    _check_readable(authority, "certificate-authority", context.cluster)
    return TlsSettings(
        authority=authority,
        key_pair=pair,
        server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
    )


def _check_readable(pem: Pem, word: str, owner: str) -> None:
    if not pem:
        return
    try:
        pem.read()
    except ConfigError as error:
        raise ConfigError(f"{word} of {owner}: {error.message}") from None


def _credentials(
    cluster: Cluster, user: KubeconfigUser, name: str
) -> Callable[[Clock], Credentials]:
    named = [
        word
        for word, given in (("token", user.token), ("basicAuth", user.username or user.password))
        if given
    ]
    if len(named) > 1:
        raise ConfigError(
            f"more than one authentication method found for {name}; "
            f"found {named}, only one is allowed"
        )
    if user.auth_provider is not None:
        raise _removed(user.auth_provider.name, name)
    if user.token_file:
        return _token_file(user.token_file, user.token)
    if user.token:
        return lambda clock: bearer(user.token)
    if user.username or user.password:
        return lambda clock: basic(user.username, user.password)
    if user.exec is not None and not (user.client_certificate or user.client_certificate_data):
        program = _checked(user.exec, name)
        info = _cluster_info(cluster)
        return lambda clock: ExecPlugin(program, info, clock)
    return anonymous


def _token_file(path: str, token: str) -> Callable[[Clock], Credentials]:
    def make(clock: Clock) -> Credentials:
        try:
            return TokenFile(path, clock)
        except ConfigError:
            if not token:
                raise
            return bearer(token)

    return make


def _checked(program: ExecConfig, user: str) -> ExecConfig:
    refuse_if_confined(f"exec of {user}")
    if not program.command:
        raise ConfigError(f"command must be specified for {user} to use exec authentication plugin")
    if program.api_version not in (V1, V1BETA1):
        raise ConfigError(
            f'exec plugin of {user}: invalid apiVersion "{program.api_version}", '
            f"expected {V1} or {V1BETA1}"
        )
    if any(not variable.name for variable in program.env):
        raise ConfigError(
            f"env variable name must be specified for {user} to use exec authentication plugin"
        )
    mode = program.interactive_mode
    if not mode and program.api_version == V1BETA1:
        mode = "IfAvailable"
    if mode not in _INTERACTIVE_MODES:
        problem = f'invalid interactiveMode for {user}: "{mode}"'
        if not mode:
            problem = (
                f"interactiveMode must be specified for {user} to use exec authentication plugin"
            )
        raise ConfigError(f"{problem}, expected one of {', '.join(_INTERACTIVE_MODES)}")
    return replace(program, interactive_mode=mode)


def _cluster_info(cluster: Cluster) -> dict[str, Any]:
    """Return the description of a cluster for an exec plugin that asks for it."""
    info: dict[str, Any] = {"server": cluster.server}
    if cluster.tls_server_name:
        info["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        info["insecure-skip-tls-verify"] = True
    authority = Pem(cluster.certificate_authority, cluster.certificate_authority_data)
    if authority:
        info["certificate-authority-data"] = base64.b64encode(authority.read()).decode()
    if cluster.proxy_url:
        info["proxy-url"] = cluster.proxy_url
    if cluster.disable_compression:
        info["disable-compression"] = True
    for extension in cluster.extensions:
        if extension.name == _EXEC_EXTENSION:
            info["config"] = extension.extension
    return info


def _removed(provider: str, user: str) -> ConfigError:
    hint = REMOVED_PROVIDERS.get(
        provider,
        f'no Auth Provider found for name "{provider}"; '
        "use a kubectl/client-go credential plugin (exec) instead",
    )
    return ConfigError(f"auth-provider of {user}: {hint}")


def _impersonation(user: KubeconfigUser, name: str) -> tuple[tuple[str, str], ...]:
    # client-go: transport/round_trippers.go
    if not user.as_:
        if user.as_uid or user.as_groups or user.as_user_extra:
            raise ConfigError(
                f"requesting uid, groups or user-extra for {name} without impersonating a user"
            )
        return ()
    headers = [("Impersonate-User", user.as_)]
    if user.as_uid:
        headers.append(("Impersonate-Uid", user.as_uid))
    headers += [("Impersonate-Group", group) for group in user.as_groups]
    for key, values in user.as_user_extra.items():
        # Header names allow fewer characters than keys do.
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    return tuple(headers)


def _proxy(cluster: Cluster, name: str) -> str:
    if not cluster.proxy_url:
        return ""
    scheme = urlsplit(cluster.proxy_url).scheme
    if scheme not in ("http", "https"):
        problem = f"unsupported scheme {scheme!r}, expected http or https"
        raise ConfigError(
            f'invalid \'proxy-url\' "{cluster.proxy_url}" for cluster "{name}": {problem}'
        )
    return cluster.proxy_url
