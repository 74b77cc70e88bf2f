"""SegmentWriter: the files of a journal, as they are written."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

from mooring.errors import JournalError
from mooring.journal.frames import make_frame
from mooring.journal.journal_limits import MAX_BYTES, SEGMENT_BYTES
from mooring.journal.segments import list_segments, segment_path

#: A journal has at least this many segments before the oldest is removed.
_SEGMENTS = 4

_LOCK = "lock"


class SegmentWriter:
    """The folder of a journal, locked for this process, and the segment that is written.

    Used by one thread at a time. Files belong to the user alone (folder 0700, files 0600).
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Take a folder, which is created if it does not exist.

        Raise JournalError if it cannot be used, or if another process writes to it.
        """
        self.folder = folder
        self._max_bytes = max_bytes
        #: When a segment has this many bytes, the next one should begin.
        self.segment_bytes = min(segment_bytes, max_bytes // _SEGMENTS)
        #: The bytes of the current segment.
        self.size = 0
        self._file = -1
        try:
            self._lock = _lock_folder(folder)
            found = list_segments(folder)
            #: The number of the current segment.
            self.number = found[-1].number if found else 0
        except OSError as error:
            raise JournalError(
                f"--journal {folder}: {error.strerror}: name a folder that this user can write to"
            ) from error

    def begin(self) -> int:
        """Close the current segment, create the next one, and return its number."""
        self._close_file()
        self.number += 1
        path = segment_path(self.folder, self.number)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self.size = 0
        return self.number

    def write(self, lines: bytes) -> int:
        """Write entries as one frame; return its number of bytes. Raise OSError if that fails."""
        frame = make_frame(lines)
        left = memoryview(frame)
        while left:
            written = os.write(self._file, left)
            self.size += written
            left = left[written:]
        return len(frame)

    def remove_oldest(self) -> None:
        """Remove old segments until the current one has room to grow within the limit.

        Call it when the checkpoint of the current segment is complete: until then the segments
        before it are needed to read it.
        """
        found = [(one, one.path.stat().st_size) for one in list_segments(self.folder)]
        total = sum(size for _, size in found) + max(0, self.segment_bytes - self.size)
        for segment, size in found:
            if total <= self._max_bytes or segment.number >= self.number:
                return
            segment.path.unlink(missing_ok=True)
            total -= size

    def close(self) -> None:
        """Close the segment and release the folder."""
        self._close_file()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _lock_folder(folder: Path) -> int:
    """Create and lock a folder; return the descriptor that holds the lock."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _close_to_others(folder)
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise JournalError(
            f"--journal {folder}: another process writes a journal there: end it, or name another "
            "folder"
        ) from None
    except OSError:
        os.close(lock)
        raise
    return lock


def _close_to_others(folder: Path) -> None:
    """Take the rights of other users from a folder; raise JournalError if it has other files."""
    if not stat.S_IMODE(folder.stat().st_mode) & 0o077:
        return
    ours = {_LOCK, *(segment.path.name for segment in list_segments(folder))}
    for path in folder.iterdir():
        if path.name not in ours:
            raise JournalError(
                f"--journal {folder}: other users have access to the folder, and it has other "
                f"files ({path.name}): name a folder of its own, which is created if it does not "
                "exist"
            )
    folder.chmod(0o700)
