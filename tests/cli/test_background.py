"""A command in the background."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mooring.cli import background
from mooring.errors import ConfigError

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
