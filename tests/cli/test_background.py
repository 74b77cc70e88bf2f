"""A command in the background: what the waiting process shows and prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mooring.cli import background
from mooring.cli.progress import ProgressLine
from mooring.errors import ConfigError
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


SAYS = "from mooring.cli import background as b; assert b.is_background(); b.say_ready('hello')"


def test_this_is_not_the_background() -> None:
    assert not background.is_background()


def test_what_the_process_says_when_it_is_ready_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "new" / "log"
    assert background.start(["-c", SAYS], log, reads=False) == 0
    assert capsys.readouterr().out == "hello"
    assert log.read_text() == ""


def test_the_log_of_a_process_that_ends_first_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    log.write_text("of the last time\n")
    status = background.start(["-c", "print('a'); raise SystemExit(3)"], log, reads=False)
    assert status == 3
    assert capsys.readouterr().err == "a\n"


def test_a_process_that_ends_well_before_it_is_ready_failed(tmp_path: Path) -> None:
    assert background.start(["-c", ""], tmp_path / "log", reads=True) == 1


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="file/log"):
        background.start(["-c", ""], tmp_path / "file" / "log", reads=False)


def test_the_log_is_for_its_owner_alone(tmp_path: Path) -> None:
    log = tmp_path / "log"
    background.start(["-c", SAYS], log, reads=False)
    assert os.stat(log).st_mode & 0o777 == 0o600
