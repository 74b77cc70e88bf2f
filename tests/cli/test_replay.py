"""`mooring replay`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mooring.cli.main import main
from mooring.cli.progress import ProgressLine
from mooring.journal.segments import list_segments
from mooring.registry import load_plugins
from tests.replay.recordings import JOURNAL_0_2_0, journaled, schedule_some, write_config
from tests.replay.test_replaying import MOST_ALLOCATED, Whimsical

SOURCE = """\
from mooring import Plugin

class Mine(Plugin):
    def score(self, state, pod, node):
        return 1
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    journaled(folder, schedule_some)
    return folder


def test_everything_comes_out_the_same(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(journal)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("9 attempts of 8 pods, 2027-01-15T08:00:00Z to ")
    assert lines[1:] == ["every decision came out the same: node, message and totals"]


@pytest.mark.parametrize("history", ["recorded", "own"])
def test_journal_of_0_2_0_is_replayed(history: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(JOURNAL_0_2_0), "--history", history, "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    if history == "recorded":
        assert {"attempts": 13, "pods": 8, "runs": 2, "scheduled": 6}.items() <= report.items()
        assert (report["reproduced"], report["undecided"], report["notComparable"]) == (True, 0, 0)


def test_a_deviation_ends_with_status_3_and_names_the_plugin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    journaled(tmp_path, schedule_some, Whimsical)
    monkeypatch.setattr(Whimsical, "points", 97)
    assert main(["replay", str(tmp_path)], plugins=[Whimsical]) == 3
    assert "(Whimsical)" in capsys.readouterr().out


@pytest.mark.parametrize("history", ["recorded", "own"])
def test_a_terminal_shows_how_far_it_is(
    journal: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    history: str,
) -> None:
    monkeypatch.setattr(ProgressLine, "PATIENCE", 0.0)
    monkeypatch.setattr(ProgressLine, "INTERVAL", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["replay", str(journal), "--history", history]) == 0
    shown = capsys.readouterr()
    assert "replaying: 100 % of " in shown.err
    assert shown.err.endswith("\r\x1b[K")
    assert "replaying" not in shown.out


def test_another_configuration(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(tmp_path, MOST_ALLOCATED))
    assert main(["replay", str(journal), "--config", config]) == 0
    assert "another node\n     7  NodeResourcesFit\n" in capsys.readouterr().out
    assert main(["replay", str(journal), "--config", config, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["counts"] == {
        "same": 2,
        "tied": 0,
        "another node": 7,
        "pending instead": 0,
        "scheduled instead": 0,
        "not comparable": 0,
    }


def test_a_history_of_its_own(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(write_config(tmp_path, MOST_ALLOCATED))
    command = ["replay", str(journal), "--config", config, "--history", "own"]
    assert main(command) == 0
    assert "RECORDED  OWN" in capsys.readouterr().out
    assert main([*command, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["recorded"]["bound"], data["own"]["bound"]) == (7, 7)
    assert main([*command, "-o", "html"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")


def test_a_page(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(journal), "-o", "html"]) == 0
    assert "Every decision came out the same" in capsys.readouterr().out


def test_a_part_of_the_journal(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(journal), "--from", "0s", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["attempts"] == 1
    assert main(["replay", str(journal), "--to", "2027-01-15T08:00:00Z"]) == 0
    assert capsys.readouterr().out == "no attempt in this time\n"


def test_a_recorded_plugin_that_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "mine.py"
    source.write_text(SOURCE)
    folder = tmp_path / "journal"
    journaled(folder, schedule_some, *load_plugins([f"{source}:Mine"]))
    source.unlink()
    assert main(["replay", str(folder), "--trust-recorded-plugins"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: plugin Mine of the journal was loaded from")
    assert error.count("\n") == 1
    # Another configuration does not need it; differences are then attributed without it.
    assert main(["replay", str(folder), "--config", str(write_config(tmp_path))]) == 0
    assert "warning: the recorded rules cannot be applied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "soon"], "--from must be a time"),
        (["--config", "missing.yaml"], "missing.yaml: No such file"),
        (["--plugin", "missing.py:One"], "no such file"),
    ],
)
def test_bad_flags(
    journal: Path, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(journal), *arguments]) == 1
    assert words in capsys.readouterr().err


def test_bad_journals(journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["replay", str(empty)]) == 1
    assert "holds no journal" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "nowhere")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    (segment,) = list_segments(journal)
    content = bytearray(segment.path.read_bytes())
    content[40] ^= 0xFF
    segment.path.write_bytes(content)
    assert main(["replay", str(journal)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_a_journal_of_a_newer_version(
    journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mooring.journal.journal_reading.FORMAT", 0)
    assert main(["replay", str(journal)]) == 1
    error = capsys.readouterr().err
    assert "is of a newer version (format 4" in error
    assert error.count("\n") == 1
