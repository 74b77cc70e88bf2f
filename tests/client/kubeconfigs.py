"""Kubeconfig files in a folder of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mooring.client.connection import Connection
from mooring.client.kubeconfig import load_kubeconfig
from mooring.observe.clock import VirtualClock

SERVER = "https://server:6443"


def document(user: Any = None, cluster: Any = None, **context: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **context}}],
        "current-context": "x",
    }


def write(path: Path, body: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def load(user: Any = None, cluster: Any = None, **context: Any) -> Connection:
        return load_kubeconfig(write(tmp_path / "config", document(user, cluster, **context)))

    return load


async def header(connection: Connection) -> str:
    return await connection.credentials(VirtualClock()).authorization()
