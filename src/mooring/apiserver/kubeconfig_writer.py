"""The kubeconfig of a local cluster."""

from __future__ import annotations

import base64
from pathlib import Path

import yaml

from mooring.apiserver.auth.certificate_authority import Pair, write_private


def write(path: Path, url: str, authority: bytes, admin: Pair, name: str = "mooring") -> None:
    """Write a kubeconfig for the administrator; only the file's owner can read it."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    user = f"{name}-admin"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": url, "certificate-authority-data": text(authority)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": text(admin.certificate),
                    "client-key-data": text(admin.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": user}}],
        "current-context": name,
    }
    write_private(path, yaml.safe_dump(config, sort_keys=False).encode())
