"""The files that private keys are handed to Python's ssl in."""

from __future__ import annotations

import os
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest


class LoadedFiles:
    """The files that certificates and keys were loaded from, as they were at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[Path] = []
        #: Who may do what with each file, and with the folder it is in.
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
        """Check that some were loaded, that only their owner could read them, and they are gone."""
        assert self.paths
        assert set(self.modes) == {(0o600, 0o700)}
        assert not any(path.exists() or path.parent.exists() for path in self.paths)


@pytest.fixture
def loaded_files(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Note the files that keys are loaded from, where nothing but their mode protects them."""
    before = os.umask(0)
    try:
        yield LoadedFiles(monkeypatch)
    finally:
        os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
