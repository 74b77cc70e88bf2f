"""Frames: the blocks of a segment file, each with its length and a CRC.

    b"MJ\xf1\x0a" | length, 4 bytes | CRC-32, 4 bytes | zlib data of `length` bytes

Numbers are little-endian; the CRC covers the length and the data. The data is a number of entries,
one line of JSON each. A process that is killed leaves at most one incomplete frame at the end.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mooring.errors import JournalError

_MARK = b"MJ\xf1\x0a"
_MARKS = re.compile(re.escape(_MARK))
_HEADER = struct.Struct("<4sII")
_LENGTH = struct.Struct("<I")
#: A fast level: the lines repeat one another, so the slower levels gain little.
_LEVEL = 1
#: By how much the content of a segment may exceed its size; journals have a tenth of that.
MAX_RATIO = 100
#: How many bytes it takes as long to read as to check one mark.
_MARK_COST = 2**10
#: What a few marks in a short rest may cost.
_FREE = 2**16
#: The text of the error for what is no regular file.
NOT_REGULAR = "it is not a regular file"
#: The most bytes of one frame, compressed or not. A block is far smaller unless one object is
#: larger: an API server takes objects of a few megabytes.
MAX_FRAME = 2**28


class TornFrameError(Exception):
    """A file that ends within a frame: its writer was killed, or is still writing."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"the file ends within the frame at byte {offset}")
        #: Where the incomplete frame begins.
        self.offset = offset


def make_frame(lines: bytes) -> bytes:
    """Return the frame of some entries."""
    data = zlib.compress(lines, _LEVEL)
    return _HEADER.pack(_MARK, len(data), checksum(data)) + data


def open_segment(path: Path) -> BinaryIO:
    """Open a segment file for reading; raise OSError if that fails or it is no regular file.

    Whoever made the folder may have put a FIFO there, or a link to a device, which never end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, NOT_REGULAR)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_frames(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the content of each frame of a file; `name` is shown in errors.

    Raise TornFrameError if the file ends within a frame, and JournalError if it is damaged, or
    expands to more than any journal does.
    """
    offset = 0
    size = file.seek(0, os.SEEK_END)
    left = MAX_FRAME + MAX_RATIO * size
    file.seek(0)
    while header := file.read(_HEADER.size):
        lines = _content(file, header)
        if lines is None:
            _check_rest(file, name, offset, size)
            if not offset and not _is_beginning(header):
                raise JournalError(
                    f"{name} is not a segment of a journal, or its beginning is damaged: restore "
                    "it from a copy, or remove it"
                )
            raise TornFrameError(offset)
        left -= len(lines)
        if left < 0:
            raise JournalError(
                f"{name} expands to more than {MAX_RATIO} times its size, which no journal does: "
                "remove it"
            )
        yield lines
        offset = file.tell()


def _is_beginning(header: bytes) -> bool:
    """Return whether a file may begin with these bytes; zeros are what a power loss leaves."""
    return not any(header) or header[: len(_MARK)] == _MARK[: len(header)]


def checksum(data: bytes | memoryview) -> int:
    """Return the CRC-32 of the length of some data and of the data."""
    return zlib.crc32(data, zlib.crc32(_LENGTH.pack(len(data))))


def _content(file: BinaryIO, header: bytes) -> bytes | None:
    """Return the content of the frame that begins with a header; None if it is no whole frame."""
    if len(header) < _HEADER.size:
        return None
    mark, length, expected = _HEADER.unpack(header)
    if mark != _MARK or length > MAX_FRAME:
        return None
    data = file.read(length)
    if len(data) < length or checksum(data) != expected:
        return None
    unpacking = zlib.decompressobj()
    try:
        lines = unpacking.decompress(data, MAX_FRAME)
    except zlib.error:
        return None
    return None if unpacking.unconsumed_tail or not unpacking.eof else lines


def _check_rest(file: BinaryIO, name: str, offset: int, size: int) -> None:
    """Raise JournalError if whole frames follow one that cannot be read.

    What is read is bounded: an incomplete frame is shorter than the longest one, and holds a mark
    by chance only. If marks are so many that checking them costs more than reading the rest twice,
    it is not the end of an incomplete frame.
    """
    length = size - offset
    file.seek(offset)
    is_damaged = length > _HEADER.size + MAX_FRAME
    rest = memoryview(b"" if is_damaged else file.read())
    budget = 2 * length + _FREE
    for mark in _MARKS.finditer(rest, 1):
        begin = mark.start() + _HEADER.size
        if begin > length:
            break
        _, data_length, expected = _HEADER.unpack_from(rest, mark.start())
        if begin + data_length > length:
            continue
        budget -= _MARK_COST + data_length
        if budget < 0 or checksum(rest[begin : begin + data_length]) == expected:
            is_damaged = True
            break
    if is_damaged:
        raise JournalError(
            f"{name} is damaged at byte {offset} (a checksum differs, and more data follows): "
            "restore the file from a copy, or remove it and the files before it, and read the "
            "rest"
        )
