"""Frames: the blocks of a segment file, each with its length and a CRC.

    b"MJ\xf1\x0a" | length, 4 bytes | CRC-32, 4 bytes | zlib data of `length` bytes

Numbers are little-endian; the CRC covers the length and the data. The data is a number of entries,
one line of JSON each. A process that is killed leaves at most one incomplete frame at the end.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from mooring.errors import JournalError

_MARK = b"MJ\xf1\x0a"
_HEADER = struct.Struct("<4sII")
_LENGTH = struct.Struct("<I")
#: A fast level: the lines repeat one another, so the slower levels gain little.
_LEVEL = 1
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
    return _HEADER.pack(_MARK, len(data), _checksum(data)) + data


def read_frames(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the content of each frame of a file; `name` is shown in errors.

    Raise TornFrameError if the file ends within a frame, and JournalError if it is damaged.
    """
    offset = 0
    while header := file.read(_HEADER.size):
        lines = _content(file, header)
        if lines is None:
            _check_rest(file, name, offset)
            raise TornFrameError(offset)
        yield lines
        offset = file.tell()


def _checksum(data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(_LENGTH.pack(len(data))))


def _content(file: BinaryIO, header: bytes) -> bytes | None:
    """Return the content of the frame that begins with a header; None if it is no whole frame."""
    if len(header) < _HEADER.size:
        return None
    mark, length, checksum = _HEADER.unpack(header)
    if mark != _MARK or length > MAX_FRAME:
        return None
    data = file.read(length)
    if len(data) < length or _checksum(data) != checksum:
        return None
    unpacking = zlib.decompressobj()
    try:
        lines = unpacking.decompress(data, MAX_FRAME)
    except zlib.error:
        return None
    return None if unpacking.unconsumed_tail or not unpacking.eof else lines


def _check_rest(file: BinaryIO, name: str, offset: int) -> None:
    """Raise JournalError if whole frames follow one that cannot be read."""
    file.seek(offset)
    rest = file.read()
    at = rest.find(_MARK, 1)
    while at >= 0:
        file.seek(offset + at)
        if _content(file, file.read(_HEADER.size)) is not None:
            raise JournalError(
                f"{name} is damaged at byte {offset} (a checksum differs, and more data follows): "
                "restore the file from a copy, or remove it and the files before it, and read the "
                "rest"
            )
        at = rest.find(_MARK, at + 1)
