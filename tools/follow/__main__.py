"""Report what a Kubernetes release changed for a scheduler.

Usage: python -m tools.follow --release vX.Y.Z [--against vX.Y.Z] [--parts] [--jobs N]

Builds the recorder with the release, records the scenarios of tests/conformance/vectors with it,
and prints one report: gates, flags, metrics, configuration, plugins, API fields, rights, texts, and
the decisions that changed, by plugin. The release before is the newest one that is recorded there;
its decisions are taken from there, or recorded if it is another one. With --parts, kube-apiserver,
kube-scheduler and kubectl of the release are built too. Needs Go.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.follow import decisions
from tools.follow.decisions import Change
from tools.follow.facts import Facts, collect
from tools.follow.report import report
from tools.go_modules import Impossible, tag
from tools.recorder import running
from tools.recorder.build import build, build_parts

VECTORS = Path(__file__).resolve().parents[2] / "tests" / "conformance" / "vectors"


def number(folder: Path) -> list[int]:
    """Return the numbers of a release that is the name of a folder, for sorting."""
    return [int(part) for part in folder.name.split(".")]


def newest(vectors: Path, but: str) -> str:
    """Return the newest recorded release that is not the one that is followed."""
    found = sorted(vectors.iterdir(), key=number)
    return next(folder.name for folder in reversed(found) if tag(folder.name) != tag(but))


def compare(release: str, against: str, vectors: Path) -> tuple[list[Change], dict[str, str]]:
    """Return the scenarios that a release decides otherwise, and those that it refuses."""
    folder = vectors / tag(against).removeprefix("v")
    recorded = folder.is_dir()
    scenarios = running.read_folder(folder if recorded else vectors / newest(vectors, release))
    found: list[Change] = []
    refused: dict[str, str] = {}
    for group, lines in scenarios.items():
        print(f"follow: {group}", file=sys.stderr)
        before = running.rows(lines if recorded else running.run(build(against), lines))
        now = running.rows(running.run(build(release), lines))
        found += decisions.changes(before, now)
        refused |= decisions.refusals(now)
    return found, refused


def facts_of(release: str) -> Facts:
    """Return the facts of a release, and say that they are collected."""
    print(f"follow: reading {tag(release)}", file=sys.stderr)
    return collect(release)


def main(argv: list[str]) -> int:
    """Run a command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.follow",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--release", required=True, help="the release to follow, such as v1.38.0")
    parser.add_argument("--against", help="the release to compare with, such as v1.37.1")
    parser.add_argument("--parts", action="store_true", help="build the real parts as well")
    parser.add_argument("--jobs", type=int, default=2, help="packages compiled at a time")
    chosen = parser.parse_args(argv)
    try:
        against = chosen.against or newest(VECTORS, chosen.release)
        build(chosen.release, chosen.jobs)
        if chosen.parts:
            for path in build_parts(chosen.release, chosen.jobs):
                print(f"follow: built {path}", file=sys.stderr)
        found, refused = compare(chosen.release, against, VECTORS)
        print(report(facts_of(against), facts_of(chosen.release), found, refused))
    except Impossible as reason:
        print(f"follow: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
