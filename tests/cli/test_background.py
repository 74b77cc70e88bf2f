"""A command in the background: what the waiting process shows and prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.cli import background
from mooring.cli.progress import ProgressLine
from tests.cli.test_progress import Terminal

READY = "from mooring.cli import background\n"


def start(folder: Path, code: str) -> int:
    return background.start(["-c", READY + code], folder / "log", reads=False)


def test_progress_is_shown_on_a_terminal_until_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(ProgressLine, "PATIENCE", 0.0)
    monkeypatch.setattr(ProgressLine, "INTERVAL", 0.0)
    code = "background.say_progress('nodes: 1 of 2')\nbackground.say_ready('It runs.\\n')"
    assert start(tmp_path, code) == 0
    assert "nodes: 1 of 2" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert capsys.readouterr().out == "It runs.\n"


def test_nothing_but_the_last_words_goes_into_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "background.say_progress('nodes: 1 of 2')\nbackground.say_ready('It runs.\\n')"
    assert start(tmp_path, code) == 0
    assert capsys.readouterr() == ("It runs.\n", "")


def test_what_fails_is_printed_from_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "import sys\nbackground.say_progress('half')\nprint('no', file=sys.stderr)\nsys.exit(3)"
    assert start(tmp_path, code) == 3
    assert capsys.readouterr() == ("", "no\n")
