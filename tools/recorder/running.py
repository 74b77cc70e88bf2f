"""Run the recorder over files of scenarios, and compare what two releases decided.

A file `<group>.jsonl.gz` has one JSON object per line: a scenario, and what was decided of it.
"""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIX = ".jsonl.gz"
#: Scenarios that the recorder runs at a time: they mostly wait for informers.
WORKERS = 8

Row = dict[str, Any]


class Refused(Exception):
    """Scenarios that a release does not accept."""


def groups(folder: Path) -> list[str]:
    """Return the names of a folder's files of scenarios, sorted."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def read_lines(folder: Path, group: str) -> bytes:
    """Return the lines of a file of scenarios."""
    return gzip.decompress((folder / f"{group}{SUFFIX}").read_bytes())


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the lines of each file of scenarios in a folder, by group."""
    return {group: read_lines(folder, group) for group in groups(folder)}


def write_lines(folder: Path, group: str, lines: bytes) -> None:
    """Write a file of scenarios; equal lines make equal files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{group}{SUFFIX}").write_bytes(gzip.compress(lines, mtime=0))


def run(program: Path, lines: bytes) -> bytes:
    """Return lines with what the recorder's release decides for the scenario of each."""
    command = [str(program), f"-workers={WORKERS}"]
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True)
    return done.stdout


def rows(lines: bytes) -> list[Row]:
    """Return lines of scenarios, decoded."""
    return [json.loads(line) for line in lines.splitlines()]


def record(program: Path, scenarios: dict[str, bytes], target: Path) -> int:
    """Record scenarios, given by group, into a folder; return how many there are.

    Nothing is written if the release refuses a scenario.
    """
    recorded = {group: run(program, lines) for group, lines in scenarios.items()}
    decoded = {group: rows(lines) for group, lines in recorded.items()}
    refused = [
        f"{row['scenario']['name']}: {row['failed']}"
        for found in decoded.values()
        for row in found
        if "failed" in row
    ]
    if refused:
        raise Refused("\n".join(refused))
    for group, lines in recorded.items():
        write_lines(target, group, lines)
    return sum(map(len, decoded.values()))


def verify(program: Path, recorded: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each recorded scenario, and how a new recording of it differs."""
    for lines in recorded.values():
        for before, now in zip(rows(lines), rows(run(program, lines)), strict=True):
            name = before["scenario"]["name"]
            if "failed" in now:
                yield name, [now["failed"]]
            else:
                yield name, list(differences(before["expected"], now["expected"]))


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield where two values differ, as "path: before, now"."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            below = f"{path}/{key}" if path else key
            yield from differences(before.get(key, "absent"), now.get(key, "absent"), below)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{path}/{number}")
    elif before != now:
        yield f"{path}: {before!r}, {now!r}"
