"""Keep the objects in an SQLite file, so that they outlive a restart.

Every write is one transaction in the write-ahead log before it is acknowledged: a process that is
killed loses nothing. The log is not forced to the disk each time; losing power may cost the last
moments, as it is a cluster for one machine.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from mooring.errors import ConfigError

_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
  resource TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (resource, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER);
INSERT OR IGNORE INTO counter VALUES (1, 0);
"""


class SqliteJournal:
    """Keep objects in one file of a folder; the file is readable by its owner alone."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "objects.db"
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None, timeout=0)
        try:
            # What one process has in memory another must not change.
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            self._db.close()
            locked = "locked" in str(error)
            why = "another local cluster keeps its objects here" if locked else str(error)
            raise ConfigError(why, file=str(path)) from None

    def load(self) -> Iterator[tuple[str, str, int, bytes]]:
        """Yield resource, key, version and JSON of every object."""
        yield from self._db.execute("SELECT resource, key, version, data FROM objects")

    def version(self) -> int:
        """Return the last version that was given."""
        row = self._db.execute("SELECT version FROM counter").fetchone()
        return int(row[0])

    def put(self, resource: str, key: str, version: int, data: bytes) -> None:
        """Keep an object."""
        self._db.execute(
            "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", (resource, key, version, data)
        )

    def delete(self, resource: str, key: str, version: int) -> None:
        """Forget an object."""
        self._db.execute("BEGIN")
        self._db.execute("DELETE FROM objects WHERE resource = ? AND key = ?", (resource, key))
        # The version of a deletion is nowhere else; it must not be given twice.
        self._db.execute("UPDATE counter SET version = ?", (version,))
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Write everything down."""
        self._db.close()
