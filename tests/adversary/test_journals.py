"""Journals that were written to harm whoever opens them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from mooring.cli.main import main
from mooring.explain.scheduler_rules import RecordedPlugin
from mooring.journal.entries import AttemptEnds, Entry, SegmentHead
from mooring.journal.frames import make_frame
from mooring.journal.segments import segment_path
from tests.journal.journals import read
from tests.replay.recordings import journaled, schedule_some

CODE = """\
import pathlib
pathlib.Path({marker!r}).touch()
from mooring import Plugin

class Trap(Plugin):
    def score(self, state, pod, node):
        return 1
"""

#: The ways to open a journal.
WAYS = [
    ["replay", "JOURNAL"],
    ["replay", "JOURNAL", "--history", "own"],
    ["replay", "JOURNAL", "-o", "html"],
    ["explain", "web-0", "--journal", "JOURNAL"],
    ["ui", "--no-browser", "--journal", "JOURNAL"],
]


def write_journal(folder: Path, entries: Sequence[Entry]) -> None:
    """Write entries as the only segment of a journal."""
    folder.mkdir(exist_ok=True)
    lines = b"".join(msgspec.json.encode(_as_read(entry)) + b"\n" for entry in entries)
    segment_path(folder, 1).write_bytes(make_frame(lines))


def _as_read(entry: Entry) -> Entry:
    """Return an entry without what the reader has made entries of its own."""
    if isinstance(entry, AttemptEnds):
        return replace(entry, reserved=0.0, permitted=0.0)
    return entry


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Entry]:
    """Return the entries of a small journal."""
    folder = tmp_path_factory.mktemp("journal")
    journaled(folder, schedule_some)
    return read(folder)


class Trapped:
    """A journal that names a plugin whose file leaves a mark when it runs."""

    def __init__(self, folder: Path, entries: Sequence[Entry]) -> None:
        self.file = folder / "trap.py"
        self.marker = folder / "ran"
        self.file.write_text(CODE.format(marker=str(self.marker)))
        self.folder = folder / "journal"
        self._entries = entries

    def write(self, file: str, *, sha256: str | None = None) -> None:
        """Write the journal; `file` is where it says that the plugin came from."""
        if sha256 is None:
            sha256 = hashlib.sha256(self.file.read_bytes()).hexdigest()
        plugin = RecordedPlugin("Trap", "trap:Trap", file, sha256)
        write_journal(self.folder, [self._with(plugin, entry) for entry in self._entries])

    def _with(self, plugin: RecordedPlugin, entry: Entry) -> Entry:
        if not isinstance(entry, SegmentHead):
            return entry
        profiles = [
            {**profile, "plugins": {"multiPoint": {"enabled": [{"name": "Trap"}]}}}
            for profile in entry.config["profiles"]
        ]
        config = {**entry.config, "profiles": profiles}
        return replace(entry, plugins=(*entry.plugins, plugin), config=config)

    def open(self, way: Sequence[str], *flags: str) -> int:
        """Open the journal; return the exit status."""
        return main([*(str(self.folder) if one == "JOURNAL" else one for one in way), *flags])


@pytest.fixture
def trapped(tmp_path: Path, entries: Sequence[Entry], monkeypatch: pytest.MonkeyPatch) -> Trapped:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return Trapped(tmp_path, entries)


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_opening_a_journal_runs_no_code_that_it_names(
    trapped: Trapped, way: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    trapped.write(str(trapped.file))
    assert trapped.open(way) == 1
    error = capsys.readouterr().err
    assert error == (
        f"error: the journal needs plugin Trap of {trapped.file}, which is not loaded, because a "
        "journal is data: name the plugin with --plugin FILE.py:Class, or load the files that the "
        "journal names with --trust-recorded-plugins\n"
    )
    assert not trapped.marker.exists()


def test_a_journal_that_was_written_again_is_the_same(
    tmp_path: Path, entries: Sequence[Entry]
) -> None:
    write_journal(tmp_path, entries)
    assert main(["replay", str(tmp_path)]) == 0


@pytest.mark.parametrize("trust", [[], ["--trust-recorded-plugins"]], ids=["", "trusted"])
@pytest.mark.parametrize("way", WAYS[2:], ids=" ".join)
@pytest.mark.parametrize(
    "file",
    [
        "trap.py",
        "./trap.py",
        "trap",
        "/trap",
        "os",
        "",
        "~/trap.py",
        "$PWD/trap.py",
        "file:///t.py",
    ],
)
def test_a_file_that_depends_on_the_folder_or_the_installation_is_refused(
    trapped: Trapped,
    way: Sequence[str],
    file: str,
    trust: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    trapped.write(file)
    assert trapped.open(way, *trust) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: the journal needs plugin Trap")
    assert "--plugin FILE.py:Class" in error
    assert error.count("\n") == 1
    assert not trapped.marker.exists()


@pytest.mark.parametrize("sha256", ["", "0" * 64])
def test_a_trusted_file_with_other_content_is_not_loaded(
    trapped: Trapped, sha256: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trapped.write(str(trapped.file), sha256=sha256)
    assert trapped.open(WAYS[0], "--trust-recorded-plugins") == 1
    assert "which has changed since" in capsys.readouterr().err
    assert not trapped.marker.exists()


def test_files_are_loaded_if_the_user_trusts_the_journal(trapped: Trapped) -> None:
    trapped.write(str(trapped.file))
    trapped.open(WAYS[0], "--trust-recorded-plugins")
    assert trapped.marker.exists()


def test_a_plugin_that_the_user_names_is_the_recorded_one(
    trapped: Trapped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trapped.write("/elsewhere/trap.py")
    trapped.open(WAYS[0], "--plugin", f"{trapped.file}:Trap")
    assert "decided again by the recorded configuration" in capsys.readouterr().out
    assert trapped.marker.exists()


def test_another_configuration_needs_no_recorded_plugin(
    trapped: Trapped, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trapped.write(str(trapped.file))
    config = tmp_path / "other.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    assert trapped.open(WAYS[0], "--config", str(config)) == 0
    assert "the recorded rules cannot be applied: the journal needs" in capsys.readouterr().err
    assert not trapped.marker.exists()
