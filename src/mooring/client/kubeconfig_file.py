"""Kubeconfig files: their format, how they are read, and how several are merged."""

# client-go: tools/clientcmd/api/v1/types.go, loader.go

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.client.exec_plugin import ExecConfig
from mooring.config.decode import Decoder, UnknownField
from mooring.config.positions import parse
from mooring.errors import ConfigError, ConfigErrors
from mooring.observe.files import locate
from mooring.observe.files import read_file as read_whole

S = TypeVar("S", bound=msgspec.Struct)


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    pass


class Extension(_Part, frozen=True, kw_only=True):
    """Data that some other tool keeps in the file."""

    name: str = ""
    extension: Any = None


class Cluster(_Part, frozen=True, kw_only=True):
    """The server of a cluster."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class AuthProvider(_Part, frozen=True, kw_only=True):
    """A method of authentication that was once built into client-go."""

    name: str = ""
    config: dict[str, str] = {}


class KubeconfigUser(_Part, frozen=True, kw_only=True):
    """The credentials of a user."""

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    username: str = ""
    password: str = ""
    auth_provider: AuthProvider | None = None
    exec: ExecConfig | None = None


class Context(_Part, frozen=True, kw_only=True):
    """A pair of a cluster and a user."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Part, frozen=True, kw_only=True):
    name: str = ""
    cluster: Cluster = Cluster()


class _NamedUser(_Part, frozen=True, kw_only=True):
    name: str = ""
    user: KubeconfigUser = KubeconfigUser()


class _NamedContext(_Part, frozen=True, kw_only=True):
    name: str = ""
    context: Context = Context()


class _Document(_Part, frozen=True, kw_only=True):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()
    current_context: str = ""


class KubeconfigFile(msgspec.Struct, frozen=True):
    """The content of one or several files; paths in it are absolute."""

    clusters: Mapping[str, Cluster] = {}
    users: Mapping[str, KubeconfigUser] = {}
    contexts: Mapping[str, Context] = {}
    current_context: str = ""
    #: The names of the files, for messages.
    where: str = ""


def default_paths(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files that $KUBECONFIG lists, or ~/.kube/config."""
    listed = environment.get("KUBECONFIG", "")
    if not listed:
        return [Path("~/.kube/config").expanduser()]
    return [Path(one) for one in dict.fromkeys(listed.split(os.pathsep)) if one]


def read_files(paths: Iterable[Path]) -> KubeconfigFile:
    """Read several files as one: the first file that defines a name or a current context wins.

    Files that do not exist are skipped.
    """
    files = [read_file(path) for path in paths if locate(path).exists()]
    merged = KubeconfigFile(where=", ".join(file.where for file in files))
    for file in files:
        merged = KubeconfigFile(
            {**file.clusters, **merged.clusters},
            {**file.users, **merged.users},
            {**file.contexts, **merged.contexts},
            merged.current_context or file.current_context,
            merged.where,
        )
    return merged


def read_file(path: Path) -> KubeconfigFile:
    """Read one file; raise ConfigErrors with all errors in its format."""
    file = str(path)
    try:
        text = read_whole(path).decode()
    except OSError as error:
        raise ConfigError(f"cannot read the kubeconfig: {error.strerror}", file=file) from None
    except UnicodeError:
        raise ConfigError("cannot read the kubeconfig: it is not UTF-8 text", file=file) from None
    parsed = parse(text)
    errors = list(parsed.errors)
    decoder = Decoder()
    document: _Document | None = None
    if not errors:
        document = decoder.struct(parsed.data or {}, _Document, "")
        # Other tools store their own fields here; client-go ignores unknown fields too.
        errors += [
            (error, parsed.positions.find(error.path))
            for error in decoder.errors
            if not isinstance(error, UnknownField)
        ]
    if errors or document is None:
        raise ConfigErrors(
            [
                ConfigError(
                    error.message,
                    path=error.path or None,
                    file=file,
                    line=None if mark is None else mark.line,
                    column=None if mark is None else mark.column,
                )
                for error, mark in errors
            ]
        )
    if document.kind not in ("", "Config") or document.api_version not in ("", "v1"):
        found = f"{document.api_version} {document.kind}".strip()
        raise ConfigError(f"not a kubeconfig: expected v1 Config, got {found}", file=file)
    folder = path.absolute().parent
    return KubeconfigFile(
        _named(
            file,
            "clusters",
            ((c.name, _place_cluster(c.cluster, folder)) for c in document.clusters),
        ),
        _named(file, "users", ((u.name, _place_user(u.user, folder)) for u in document.users)),
        _named(file, "contexts", ((c.name, c.context) for c in document.contexts)),
        document.current_context,
        file,
    )


def _named(file: str, path: str, pairs: Iterable[tuple[str, S]]) -> dict[str, S]:
    found: dict[str, S] = {}
    for name, value in pairs:
        if name in found:
            raise ConfigError(f'duplicate name "{name}" in list', path=path, file=file)
        found[name] = value
    return found


def _place_cluster(cluster: Cluster, folder: Path) -> Cluster:
    return replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _place_user(user: KubeconfigUser, folder: Path) -> KubeconfigUser:
    program = user.exec
    if program is not None and os.sep in program.command:
        program = replace(program, command=_absolute(program.command, folder))
    return replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=program,
    )


def _absolute(path: str, folder: Path) -> str:
    return str(folder / path) if path else ""
