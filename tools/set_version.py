"""Set the version of the release: python -m tools.set_version 0.3.0

`mooring.__version__` is the version; the package takes it from there. The other places that name
it (the chart, the manifests, examples in the docs) are rewritten to match, and a test compares
them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "src" / "mooring" / "__init__.py"
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+|\.dev\d+)?"
#: Each pattern has the version as its only group.
HOME_PATTERN = rf'^__version__ = "({VERSION})"$'
PLACES = {
    "README.md": (rf"version     Mooring ({VERSION}),",),
    "deploy/Dockerfile": (rf"mooring:({VERSION})", rf"^ARG VERSION=({VERSION})$"),
    "deploy/README.md": (rf"mooring:({VERSION})",),
    "deploy/chart/Chart.yaml": (rf"^version: ({VERSION})$", rf"^appVersion: ({VERSION})$"),
    "deploy/manifests/mooring.yaml": (
        rf"^# mooring up --image mooring:({VERSION})$",
        rf"image: mooring:({VERSION})$",
    ),
    "docs/images/up.svg": (rf"version     Mooring ({VERSION}),",),
    "docs/local-cluster.md": (rf"version     Mooring ({VERSION}),",),
    "docs/operations.md": (rf"mooring:({VERSION})",),
    "docs/shipping-a-plugin.md": (rf"mooring:({VERSION})",),
}


def current() -> str:
    """Return the version that the package has."""
    found = re.search(HOME_PATTERN, HOME.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f'{HOME}: no line reads __version__ = "..."')
    return found[1]


def named() -> dict[str, list[str]]:
    """Return the versions that each other place names."""
    return {
        name: [found for pattern in patterns for found in _versions(ROOT / name, pattern)]
        for name, patterns in PLACES.items()
    }


def set_version(version: str) -> None:
    """Write a version to every place that names it."""
    for path, patterns in {
        HOME: (HOME_PATTERN,),
        **{ROOT / k: v for k, v in PLACES.items()},
    }.items():
        text = path.read_text()
        for pattern in patterns:
            text = re.sub(
                pattern,
                lambda found: found[0].replace(found[1], version),
                text,
                flags=re.MULTILINE,
            )
        path.write_text(text)


def _versions(path: Path, pattern: str) -> list[str]:
    found: list[str] = re.findall(pattern, path.read_text(), re.MULTILINE)
    return found


def main() -> int:
    """Set the version that the command line names."""
    if len(sys.argv) != 2 or not re.fullmatch(VERSION, sys.argv[1]):
        print("usage: python -m tools.set_version MAJOR.MINOR.PATCH", file=sys.stderr)
        return 2
    set_version(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
