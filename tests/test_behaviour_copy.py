"""The behaviour suite is a copy, unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

COPY = Path(__file__).parent / "behaviour"
ORIGINAL = COPY.parents[2] / "shared" / "behave"


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.skipif(not ORIGINAL.is_dir(), reason="the original is not beside this checkout")
def test_the_suite_equals_the_original() -> None:
    originals, copies = files(ORIGINAL), files(COPY)
    assert copies.keys() == originals.keys()
    assert [name for name in copies if copies[name] != originals[name]] == []
