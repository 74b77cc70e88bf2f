"""Files of recorded scenarios: one JSON object per line, compressed; a group is a file."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec


class _Name(msgspec.Struct):
    name: str


class _Row(msgspec.Struct):
    scenario: _Name


@lru_cache(maxsize=2)
def _lines(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return file.read().splitlines()


class VectorFiles:
    """The scenarios of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def scenarios(self) -> list[tuple[str, int, str]]:
        """Return (group, index, name) of every recorded scenario."""
        files = self.folder.glob("*.jsonl.gz")
        groups = sorted(path.name.removesuffix(".jsonl.gz") for path in files)
        decoder = msgspec.json.Decoder(_Row)
        return [
            (group, index, decoder.decode(line).scenario.name)
            for group in groups
            for index, line in enumerate(self._lines(group))
        ]

    def record(self, group: str, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return one scenario and what was recorded of it."""
        row = msgspec.json.decode(self._lines(group)[index])
        return row["scenario"], row["expected"]

    def _lines(self, group: str) -> list[bytes]:
        return _lines(self.folder / f"{group}.jsonl.gz")


def differing_copies(copies: Path, originals: Path) -> list[str]:
    """Return the files of two folders that are not the same in both."""
    here = {path.name: path.read_bytes() for path in copies.iterdir()}
    there = {path.name: path.read_bytes() for path in originals.iterdir()}
    return sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
