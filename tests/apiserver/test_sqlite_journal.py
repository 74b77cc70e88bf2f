"""The journal: acknowledged writes survive a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.sqlite_journal import SqliteJournal

_WRITER = """
import sys
from pathlib import Path
from mooring.apiserver.sqlite_journal import SqliteJournal
from mooring.apiserver.resource_store import ResourceStore
store = ResourceStore(SqliteJournal(Path(sys.argv[1])))
for i in range(100_000):
    store.put("things", f"t{i:06}", {"metadata": {"name": f"t{i}"}})
    print(i, flush=True)
"""


def test_objects_and_versions_outlive_a_restart(tmp_path: Path) -> None:
    store = ResourceStore(SqliteJournal(tmp_path))
    store.put("things", "a", {"metadata": {"name": "a"}})
    store.put("things", "b", {"metadata": {"name": "b"}})
    store.delete("things", "b")
    before = store.version
    store.close()
    again = ResourceStore(SqliteJournal(tmp_path))
    assert [one.key for one in again.items("things")] == ["a"]
    assert again.version == before
    assert again.put("things", "c", {"metadata": {}}).version == before + 1


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    SqliteJournal(tmp_path).close()
    assert (tmp_path / "objects.db").stat().st_mode & 0o077 == 0


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            if line == "200\n":
                os.kill(writer.pid, signal.SIGKILL)
                break
        acknowledged = 200 + len(writer.stdout.read().splitlines())
    store = ResourceStore(SqliteJournal(tmp_path))
    assert store.count("things") >= acknowledged + 1
