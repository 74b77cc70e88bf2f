"""Print what the tests executed of each room, and fail if it is too little.

Reads the data that `make coverage` has combined. Lines that count for nothing are listed, with
reasons, in pyproject.toml: `exclude_also` of `[tool.coverage.report]`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

import msgspec

#: The least share of lines and of branches, in percent.
LINES = 95.0
BRANCHES = 90.0


class Count(msgspec.Struct, frozen=True):
    """How many of something there are, and how many of these were executed."""

    executed: int = 0
    total: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.executed + other.executed, self.total + other.total)

    @property
    def percent(self) -> float:
        """The share that was executed; all of nothing is 100."""
        return 100 * self.executed / self.total if self.total else 100.0


class Coverage(msgspec.Struct, frozen=True):
    """The lines and branches of one or more modules."""

    lines: Count = Count()
    branches: Count = Count()

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(self.lines + other.lines, self.branches + other.branches)

    @property
    def suffices(self) -> bool:
        """Whether enough lines and branches were executed."""
        return self.lines.percent >= LINES and self.branches.percent >= BRANCHES


def read(report: dict[str, Any]) -> dict[PurePath, Coverage]:
    """Return the coverage of each module, by its path below the package."""
    found = {}
    for name, file in report["files"].items():
        parts = PurePath(name).parts
        counts = file["summary"]
        found[PurePath(*parts[parts.index("mooring") + 1 :])] = Coverage(
            Count(counts["covered_lines"], counts["num_statements"]),
            Count(counts["covered_branches"], counts["num_branches"]),
        )
    return found


def rooms(modules: dict[PurePath, Coverage]) -> dict[str, Coverage]:
    """Return the coverage of each room."""
    found: dict[str, Coverage] = defaultdict(Coverage)
    for path, coverage in modules.items():
        found[path.parts[0].removesuffix(".py")] += coverage
    return dict(found)


def table(rows: Iterable[tuple[str, Coverage]]) -> str:
    """Return a line per row: its name, and the percentages of lines and branches."""
    return "\n".join(
        f"{name:<50} {coverage.lines.percent:6.1f} {coverage.branches.percent:6.1f}"
        for name, coverage in rows
    )


def main() -> int:
    """Print the modules below the limits, the rooms and the total; return the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "coverage.json"
        command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", str(output)]
        subprocess.run(command, check=True)
        modules = read(json.loads(output.read_text()))
    total = sum(modules.values(), Coverage())
    low = [(str(path), coverage) for path, coverage in modules.items() if not coverage.suffices]
    print(f"{'':50} {'lines':>6} {'branches':>8}, in percent")
    print(table(sorted(low)))
    print(table(sorted(rooms(modules).items())))
    print(table([("all", total)]))
    if not total.suffices:
        print(f"too little: {LINES} % of lines and {BRANCHES} % of branches are needed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
