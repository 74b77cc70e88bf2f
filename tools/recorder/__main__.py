"""Record what kube-scheduler decides for scenarios, with the framework of a release linked in.

Usage: python -m tools.recorder verify FOLDER --release X.Y.Z
       python -m tools.recorder record FOLDER TARGET --release X.Y.Z

`verify` records the scenarios of a folder again and prints which decisions are not those that the
folder has; it exits with 1 if there is one. `record` writes the decisions into another folder.
Needs Go; a release that was not built before is built first.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.recorder import running
from tools.recorder.build import Impossible, build, tag

# Differences that `verify` prints of a scenario.
SHOWN = 3


def verify(folder: Path, release: str) -> int:
    """Print which scenarios of a folder a release decides otherwise, and how many it does not."""
    total = equal = 0
    for name, found in running.verify(build(release), folder):
        total += 1
        equal += not found
        for difference in found[:SHOWN]:
            print(f"{name}: {difference}")
    print(f"recorder: {tag(release)} decides {equal} of {total} scenarios as recorded")
    return 0 if total and equal == total else 1


def record(folder: Path, target: Path, release: str) -> int:
    """Record the scenarios of a folder with a release."""
    count = running.record(build(release), folder, target)
    print(f"recorder: {count} scenarios recorded with {tag(release)}")
    return 0 if count else 1


def main(argv: list[str]) -> int:
    """Run a command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.recorder",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("command", choices=("verify", "record"))
    parser.add_argument("folder", type=Path, help="files of scenarios, *.jsonl.gz")
    parser.add_argument("target", type=Path, nargs="?", help="where `record` writes")
    parser.add_argument("--release", required=True, help="a Kubernetes release, such as 1.37.1")
    chosen = parser.parse_args(argv)
    if (chosen.command == "record") != (chosen.target is not None):
        parser.error("record needs a target folder, verify takes none")
    if not running.groups(chosen.folder):
        parser.error(f"{chosen.folder} has no files of scenarios")
    try:
        if chosen.command == "verify":
            return verify(chosen.folder, chosen.release)
        return record(chosen.folder, chosen.target, chosen.release)
    except (Impossible, running.Refused) as reason:
        print(f"recorder: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
