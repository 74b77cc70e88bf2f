"""Read the scenarios of the scheduler-plugins family and what was recorded of each."""

from __future__ import annotations

import gzip
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

VECTORS = Path(
    os.environ.get("MOORING_CONTRIB_VECTORS", Path(__file__).parents[1] / "contrib_vectors")
)


class _Name(msgspec.Struct):
    name: str


class _Row(msgspec.Struct):
    scenario: _Name


@lru_cache(maxsize=2)
def _lines(group: str) -> list[bytes]:
    with gzip.open(VECTORS / f"{group}.jsonl.gz") as file:
        return file.read().splitlines()


def scenarios() -> list[tuple[str, int, str]]:
    """Return (group, index, name) of every recorded scenario; a group is a file."""
    groups = sorted(path.name.removesuffix(".jsonl.gz") for path in VECTORS.glob("*.jsonl.gz"))
    decoder = msgspec.json.Decoder(_Row)
    return [
        (group, index, decoder.decode(line).scenario.name)
        for group in groups
        for index, line in enumerate(_lines(group))
    ]


def record(group: str, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one scenario and what was recorded of it."""
    row = msgspec.json.decode(_lines(group)[index])
    return row["scenario"], row["expected"]
