"""A program named kubectl that only pretends to forward a port, for servers without a kubelet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_SCRIPT = """#!/bin/sh
echo "$@" >> {log}
{body}
"""
_FORWARDS = """echo "Forwarding from 127.0.0.1:{port} -> 10259"
exec sleep 600"""


class FakeKubectl:
    """A folder with a kubectl, first on the PATH."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._program = folder / "kubectl"
        self._log = folder / "kubectl.log"
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def forward_to(self, port: int) -> None:
        """Say that a port is forwarded, which is the server's own."""
        self._write(_FORWARDS.format(port=port))

    def hang(self) -> None:
        """Say nothing, and go on."""
        self._write("exec sleep 600")

    def fail(self, message: str) -> None:
        """Fail with a message."""
        self._write(f"echo '{message}' >&2\nexit 1")

    def _write(self, body: str) -> None:
        self._program.write_text(_SCRIPT.format(log=self._log, body=body))
        self._program.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """Return the command lines so far."""
        return self._log.read_text().splitlines() if self._log.exists() else []
