"""The files through which private keys are passed to Python's ssl."""

from __future__ import annotations

import os
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest


class LoadedFiles:
    """The files that certificates and keys were loaded from, with their modes at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[Path] = []
        #: The modes of each file and of its folder.
        self.modes: list[tuple[int, int]] = []
        load = ssl.SSLContext.load_cert_chain

        def noting(context: ssl.SSLContext, *files: Any, **options: Any) -> None:
            for file in filter(None, files):
                path = Path(file)
                self.paths.append(path)
                self.modes.append((_mode(path), _mode(path.parent)))
            load(context, *files, **options)

        monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", noting)

    def assert_private(self) -> None:
        """Assert that files were loaded, only their owner could read them, and they are gone."""
        assert self.paths
        assert set(self.modes) == {(0o600, 0o700)}
        assert not any(path.exists() or path.parent.exists() for path in self.paths)


@pytest.fixture
def loaded_files(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Record the files that keys are loaded from; with umask 0 only their modes protect them."""
    before = os.umask(0)
    try:
        yield LoadedFiles(monkeypatch)
    finally:
        os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
