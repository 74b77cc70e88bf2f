"""The recordings that are replayed: a folder of scenarios and decisions for each release.

$MOORING_VECTORS names another folder, and $MOORING_RELEASE the release that recorded it; without
the latter, the folder's README says it. $MOORING_RELEASE alone chooses one of the folders here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance.vector_files import VectorFiles

HERE = Path(__file__).parent / "vectors"
#: The releases whose recordings are here.
RELEASES = ("1.36.4", "1.37.1")
_SAID = re.compile(r"Recorded from kube-scheduler v(\d+\.\d+\.\d+)")

#: The release, the group, the number in the group and the name of a scenario.
Scenario = tuple[str, str, int, str]


def chosen(environment: Mapping[str, str]) -> dict[str, Path]:
    """Return the folder of each minor release that is replayed."""
    release = environment.get("MOORING_RELEASE", "").removeprefix("v")
    if folder := environment.get("MOORING_VECTORS"):
        return {_minor(release or _said(Path(folder))): Path(folder)}
    found = {_minor(one): HERE / one for one in RELEASES}
    if not release:
        return found
    if _minor(release) not in found:
        raise ValueError(f"MOORING_RELEASE is {release}; there is no recording of it in {HERE}")
    return {_minor(release): found[_minor(release)]}


def _minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def _said(folder: Path) -> str:
    readme = folder / "README.md"
    said = _SAID.search(readme.read_text(encoding="utf-8")) if readme.is_file() else None
    if said is None:
        raise ValueError(f"{readme} does not say who recorded it; set MOORING_RELEASE")
    return said[1]


FILES = {release: VectorFiles(folder) for release, folder in chosen(os.environ).items()}
#: Every scenario of every recording.
SCENARIOS: list[Scenario] = [
    (release, *scenario) for release, files in FILES.items() for scenario in files.scenarios()
]


def record(release: str, group: str, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one scenario and what a release decided."""
    return FILES[release].record(group, index)


def identifier(scenario: Scenario) -> str:
    """Return the name of a test of a scenario."""
    return f"{scenario[0]}-{scenario[3]}"
