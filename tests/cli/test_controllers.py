"""`mooring controllers` passes its flags on whole."""

from __future__ import annotations

import pytest

from mooring.cli.main import main


def test_flags_are_passed_on_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controllers", "--leader-elect", "false"]) == 1
    assert 'does not take any arguments, got ["false"]' in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["controllers", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage:\n  mooring controllers [flags]\n")
