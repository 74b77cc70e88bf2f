"""Processes that run one plugin alone."""

from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.observe.confinement import CONFINED, is_confined, refuse_if_confined


def test_a_process_is_confined_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONFINED, raising=False)
    assert not is_confined()
    refuse_if_confined("--plugin")
    monkeypatch.setenv(CONFINED, "1")
    assert is_confined()
    with pytest.raises(ConfigError, match=r"^--plugin is refused: "):
        refuse_if_confined("--plugin")
