"""Warnings and errors, and when they are coloured."""

from __future__ import annotations

import pytest

from mooring.cli.messages import RED, has_colour, painted, print_error, warn
from mooring.errors import MooringError
from tests.cli.test_progress import Terminal


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_is_coloured() -> None:
    assert painted("no", RED, Terminal()) == "\x1b[31mno\x1b[0m"


@pytest.mark.parametrize(
    ("name", "value", "coloured"),
    [("NO_COLOR", "1", False), ("NO_COLOR", "", True), ("TERM", "dumb", False)],
)
def test_the_environment_may_forbid_colour(
    name: str, value: str, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert has_colour(Terminal()) is coloured


def test_a_pipe_gets_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    warn(["one", "two"])
    print_error(MooringError("three\nfour"))
    assert capsys.readouterr().err == "warning: one\nwarning: two\nerror: three\nerror: four\n"


def test_words_are_coloured_and_texts_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    warn(["one"])
    print_error(MooringError("two"))
    assert terminal.getvalue() == "\x1b[33mwarning:\x1b[0m one\n\x1b[31merror:\x1b[0m two\n"
