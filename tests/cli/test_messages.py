"""Warnings and errors, and when they are coloured."""

from __future__ import annotations

import json

import pytest
import yaml

from mooring.cli.messages import (
    RED,
    has_colour,
    painted,
    print_error,
    printable,
    printable_json,
    printable_lines,
    printable_yaml,
    warn,
)
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


#: What moves the cursor, ends a line or turns text around.
CONTROLS = "\x1b[2J \x9b1m \x7f \r \u2028 \u202e"


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    shown = r"\x1b[2J \x9b1m \x7f \r \u2028 \u202e"
    assert printable(CONTROLS) == shown
    assert printable("a\tb … ü") == "a\tb … ü"
    assert printable_lines(["one\ntwo", CONTROLS]) == rf"one\ntwo{chr(10)}{shown}"
    print_error(MooringError(CONTROLS))
    assert capsys.readouterr().err == f"error: {shown}\n"


def test_data_is_the_same_with_escapes() -> None:
    data = {"name": CONTROLS, "text": "…"}
    for text, read in (
        (printable_json(data), json.loads),
        (printable_yaml(data), yaml.safe_load),
    ):
        assert read(text) == data
        assert all(one == "\n" or one.isprintable() for one in text)
    assert "…" in printable_json(data)
    assert "…" in printable_yaml({"text": "…"})
