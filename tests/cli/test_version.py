"""`mooring version`."""

from __future__ import annotations

import json
import platform

import pytest

import mooring
from mooring.cli.main import main

VERSIONS = {
    "mooring": mooring.__version__,
    "kubernetes": "v1.37.1",
    "python": platform.python_version(),
}


def test_versions_are_printed_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0].lower(): line.split()[1] for line in lines} == VERSIONS
    assert main(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == VERSIONS
