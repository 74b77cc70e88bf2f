"""The allowed differences from the reference, parsed from docs/differences.md."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
TITLE = "## What the comparison lets pass"
ROW = re.compile(r"^\| (?P<area>[a-z ]+) \| (?P<names>`.+?`) \| (?P<why>.+) \|$", re.MULTILINE)


def listed(area: str) -> list[str]:
    """Return the patterns of an area."""
    _, title, section = PAGE.read_text(encoding="utf-8").partition(f"\n{TITLE}\n")
    assert title, f"{PAGE} has no section {TITLE!r}"
    section = section.partition("\n## ")[0]
    found: list[str] = []
    for row in ROW.finditer(section):
        if row["area"] == area:
            found += re.findall(r"`([^`]+)`", row["names"])
    return found


def unexpected(area: str, names: Iterable[str]) -> list[str]:
    """Return those of some differing names that are not listed."""
    patterns = listed(area)
    return sorted(
        name
        for name in set(names)
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


def idle(area: str, names: Iterable[str]) -> list[str]:
    """Return the patterns that match none of the differing names."""
    found = list(names)
    return [pattern for pattern in listed(area) if not fnmatch.filter(found, pattern)]
