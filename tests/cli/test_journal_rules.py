"""The flags for the plugins that a journal names."""

from __future__ import annotations

import pytest

from mooring.cli.main import main


@pytest.mark.parametrize("command", [["explain", "web"], ["ui"]], ids=lambda command: command[0])
def test_trust_without_a_journal_is_refused(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--trust-recorded-plugins"]) == 1
    error = capsys.readouterr().err
    assert error == (
        "error: --trust-recorded-plugins has an effect on a journal only: name one with --journal\n"
    )
