"""Segments: the files of a journal, in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

_NAME = re.compile(r"segment-(\d{8})\.journal")


class SegmentFile(msgspec.Struct, frozen=True, order=True):
    """A file of a journal, and its number; a higher number is newer."""

    number: int
    path: Path


def segment_path(folder: Path, number: int) -> Path:
    """Return the path of the segment with a number."""
    return folder / f"segment-{number:08d}.journal"


def list_segments(folder: Path) -> Sequence[SegmentFile]:
    """Return the segments in a folder, oldest first; raise OSError if it cannot be read."""
    found = []
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match is not None:
            found.append(SegmentFile(int(match[1]), path))
    return sorted(found)
