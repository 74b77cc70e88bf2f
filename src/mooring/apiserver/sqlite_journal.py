"""The journal: objects in an SQLite file, which survive a restart.

Every write is a transaction in the write-ahead log before it is acknowledged, so a killed process
loses nothing. The log is not synced to disk at each write: a power failure may lose the last
writes, which is acceptable for a cluster on one machine.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from mooring.errors import ConfigError, StorageError

_TABLES = """
CREATE TABLE IF NOT EXISTS objects (
  resource TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, data BLOB NOT NULL,
  loaded INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (resource, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER);
INSERT OR IGNORE INTO counter VALUES (1, 0);
"""
_READ = "SELECT resource, key, version, data, loaded FROM objects"
_WRITE = "INSERT OR REPLACE INTO objects (resource, key, version, data, loaded) VALUES (?,?,?,?,?)"
_HAS_LOADED = "SELECT 1 FROM pragma_table_info('objects') WHERE name = 'loaded'"
# Files of Mooring 0.2 and earlier do not record which objects were loaded: any may have been.
_ADD_LOADED = "ALTER TABLE objects ADD COLUMN loaded INTEGER NOT NULL DEFAULT 1"


class SqliteJournal:
    """Objects in a file `objects.db` that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._path = folder / "objects.db"
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None, timeout=0)
        try:
            # The store serves from memory, so no other process may change the file.
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_TABLES)
            if not self._db.execute(_HAS_LOADED).fetchone():
                self._db.execute(_ADD_LOADED)
        except sqlite3.DatabaseError as error:
            self._db.close()
            locked = "locked" in str(error)
            why = "another local cluster keeps its objects here" if locked else str(error)
            raise ConfigError(why, file=str(path)) from None

    def load(self) -> Iterator[tuple[str, str, int, bytes, bool]]:
        """Yield resource, key, version and JSON of every object, and whether it is loaded."""
        for resource, key, version, data, loaded in self._db.execute(_READ):
            yield resource, key, version, data, bool(loaded)

    def version(self) -> int:
        """Return the resource version of the last deletion."""
        row = self._db.execute("SELECT version FROM counter").fetchone()
        return int(row[0])

    def put(self, resource: str, key: str, version: int, data: bytes, is_loaded: bool) -> None:
        """Write an object; raise StorageError if it cannot be written."""
        with self._writes():
            self._db.execute(_WRITE, (resource, key, version, data, is_loaded))

    def delete(self, resource: str, key: str, version: int) -> None:
        """Delete an object, and record the resource version of its deletion.

        Raise StorageError if that cannot be written; the object is then still there.
        """
        with self._writes():
            self._db.execute("BEGIN")
            self._db.execute("DELETE FROM objects WHERE resource = ? AND key = ?", (resource, key))
            # No object carries a deletion's version; otherwise a restart would use it again.
            self._db.execute("UPDATE counter SET version = ?", (version,))
            self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _writes(self) -> Iterator[None]:
        """Undo a write that fails, for example on a full disk."""
        try:
            yield
        except sqlite3.Error as error:
            # SQLite has rolled back after some errors, not after all.
            with contextlib.suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise StorageError(f"cannot write {self._path}: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()
