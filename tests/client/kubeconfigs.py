"""Kubeconfig files in a folder of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
