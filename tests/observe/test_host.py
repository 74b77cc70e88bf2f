"""The host name."""

from __future__ import annotations

import socket

import pytest

from mooring.observe.files import ROOT
from mooring.observe.host import hostname


def test_a_container_has_the_name_of_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTNAME", "pod-1")
    monkeypatch.delenv(ROOT, raising=False)
    assert hostname() == socket.gethostname()
    monkeypatch.setenv(ROOT, "/somewhere")
    assert hostname() == "pod-1"
