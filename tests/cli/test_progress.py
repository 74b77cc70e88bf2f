"""The line that shows how far a long command is."""

from __future__ import annotations

import io

import pytest

from mooring.cli.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgressLine, "PATIENCE", 0.0)
    monkeypatch.setattr(ProgressLine, "INTERVAL", 0.0)


def test_a_terminal_shows_the_last_text_and_is_clean_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressLine() as line:
        line.show("one")
        line.show("two")
    assert terminal.getvalue() == "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K"


def test_nothing_goes_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        line.show("one")
    assert capsys.readouterr().err == ""


def test_a_short_command_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(ProgressLine, "PATIENCE", 3600.0)
    with ProgressLine() as line:
        line.show("one")
    assert terminal.getvalue() == ""
