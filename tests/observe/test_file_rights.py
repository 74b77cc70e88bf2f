"""Which files others can change: modes, owners, groups, links, folders above."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from mooring.observe import file_rights
from mooring.observe.file_rights import CHANGEABLE, warn_of_changeable, who_can_change

ME, ALICE, STAFF, PRIVATE = 1000, 1001, 50, 1000


class Files:
    """Fake files and folders with owners and modes."""

    def __init__(self) -> None:
        self._found: dict[str, os.stat_result] = {}
        self.add("/", 0, 0o755 | stat.S_IFDIR)

    def add(self, path: str, owner: int, mode: int, group: int = 0) -> None:
        """Add a file, or a folder if the mode says so."""
        self._found[path] = os.stat_result((mode, 0, 0, 1, owner, group, 0, 0, 0, 0))

    def look(self, path: Path) -> os.stat_result | None:
        """Return the stat result of a path, or None."""
        return self._found.get(str(path))


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    names = {0: "root", ME: "me", ALICE: "alice"}
    groups = {0: ("root", []), STAFF: ("staff", ["alice"]), PRIVATE: ("me", [])}

    def user(number: int) -> SimpleNamespace:
        return SimpleNamespace(pw_name=names[number])

    def group(number: int) -> SimpleNamespace:
        name, members = groups[number]
        return SimpleNamespace(gr_name=name, gr_mem=members)

    monkeypatch.setattr(pwd, "getpwuid", user)
    monkeypatch.setattr(grp, "getgrgid", group)
    made = Files()
    monkeypatch.setattr(file_rights, "_look", made.look)
    return made


FOLDER, FILE = stat.S_IFDIR, stat.S_IFREG


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        pytest.param((ME, 0o755), (ME, 0o644), "", id="mine"),
        pytest.param((0, 0o755), (0, 0o644), "", id="root's"),
        pytest.param((ME, 0o755), (0, 0o600), "", id="root's in my folder"),
        pytest.param(
            (ME, 0o755),
            (ME, 0o666),
            "/x/p.py can be written to by everybody (-rw-rw-rw-)",
            id="a file for everybody",
        ),
        pytest.param(
            (ME, 0o777),
            (ME, 0o644),
            "/x can be written to by everybody (drwxrwxrwx)",
            id="a folder for everybody",
        ),
        pytest.param((0, 0o1777), (ME, 0o644), "", id="a folder with the sticky bit"),
        pytest.param(
            (0, 0o1777), (ALICE, 0o644), "/x/p.py belongs to alice", id="alice's in such a folder"
        ),
        pytest.param((ME, 0o755), (4242, 0o644), "/x/p.py belongs to user 4242", id="a stranger's"),
        pytest.param((ALICE, 0o755), (ME, 0o644), "/x belongs to alice", id="in alice's folder"),
        pytest.param(
            (ME, 0o755),
            (ME, 0o664, STAFF),
            "/x/p.py can be written to by the group staff (-rw-rw-r--)",
            id="a file for a group",
        ),
        pytest.param(
            (ME, 0o775, 77),
            (ME, 0o644),
            "/x can be written to by the group 77 (drwxrwxr-x)",
            id="a folder for a group without a name",
        ),
        pytest.param((ME, 0o775, PRIVATE), (ME, 0o664, PRIVATE), "", id="my private group"),
        pytest.param((0, 0o775, 0), (0, 0o664, 0), "", id="root's group"),
    ],
)
def test_who_can_change_a_file(
    files: Files, folder: tuple[int, ...], file: tuple[int, ...], expected: str
) -> None:
    files.add("/x", folder[0], folder[1] | FOLDER, *folder[2:])
    files.add("/x/p.py", file[0], file[1] | FILE, *file[2:])
    assert who_can_change(Path("/x/p.py"), ME) == expected


def test_a_folder_far_above_counts(files: Files) -> None:
    files.add("/a", ME, 0o777 | FOLDER)
    for path in ("/a/b", "/a/b/c"):
        files.add(path, ME, 0o755 | FOLDER)
    files.add("/a/b/c/p.py", ME, 0o644 | FILE)
    why = who_can_change(Path("/a/b/c/p.py"), ME)
    assert why == "/a can be written to by everybody (drwxrwxrwx)"


def test_a_read_only_file_system_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "p.py"
    file.write_text("")
    file.chmod(0o666)
    assert who_can_change(file).startswith(f"{file} can be written to by everybody")
    # The kubelet mounts a ConfigMap read-only.
    fixed = SimpleNamespace(f_flag=os.ST_RDONLY)
    monkeypatch.setattr(file_rights.os, "statvfs", lambda path: fixed)
    assert who_can_change(file) == ""


def test_a_file_that_is_not_there_is_safe(files: Files) -> None:
    assert who_can_change(Path("/none.py"), ME) == ""


def test_where_a_link_leads_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    safe, open_to_all = tmp_path / "safe", tmp_path / "open"
    safe.mkdir(mode=0o700)
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    file = open_to_all / "p.py"
    file.write_text("")
    link = safe / "p.py"
    link.symlink_to(file)
    with caplog.at_level(logging.WARNING):
        warn_of_changeable([str(link)])
    (record,) = caplog.records
    assert record.getMessage() == CHANGEABLE
    why = f"{open_to_all} can be written to by everybody (drwxrwxrwx)"
    assert record.__dict__["kv"] == {"file": str(link), "why": why}
