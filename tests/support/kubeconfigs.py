"""Writing kubeconfig files, and reading what an administrator's client needs of one."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import yaml

SCHEDULER_USER = "system:kube-scheduler"


class Access(msgspec.Struct, frozen=True):
    """The address of an API server, and the credentials to use."""

    server: str
    certificate_authority: Path | None
    client_certificate: tuple[Path, Path] | None = None
    token: str | None = None
    impersonate: str | None = None


def write(path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """Write a kubeconfig of one cluster and one user."""
    name = path.stem
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    path.chmod(0o600)
    return path


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return cluster and user of the current context, with absolute paths."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))

    def named(entries: str, name: str) -> dict[str, Any]:
        found = [entry for entry in document[entries] if entry["name"] == name]
        body = dict(found[0][entries.removesuffix("s")])
        for key in ("certificate-authority", "client-certificate", "client-key", "tokenFile"):
            if key in body:
                body[key] = str(path.parent / body[key])
        return body

    context = named("contexts", document["current-context"])
    return named("clusters", context["cluster"]), named("users", context["user"])


def access(cluster: dict[str, Any], user: dict[str, Any], scratch: Path) -> Access:
    """Return the access that cluster and user describe; embedded data is written to files."""
    for key in ("exec", "auth-provider"):
        if key in user:
            raise ValueError(
                f"tests cannot use a kubeconfig with {key}: give certificates or a token"
            )
    authority = _file(cluster, "certificate-authority", scratch)
    certificate = _file(user, "client-certificate", scratch)
    key_file = _file(user, "client-key", scratch)
    token = user.get("token")
    if "tokenFile" in user:
        token = Path(user["tokenFile"]).read_text(encoding="utf-8").strip()
    pair = (certificate, key_file) if certificate and key_file else None
    return Access(cluster["server"].rstrip("/"), authority, pair, token, user.get("as"))


def _file(entry: dict[str, Any], key: str, scratch: Path) -> Path | None:
    if embedded := entry.get(f"{key}-data"):
        path = scratch / key
        path.touch(mode=0o600)
        path.write_bytes(base64.b64decode(embedded))
        return path
    return Path(entry[key]) if key in entry else None
