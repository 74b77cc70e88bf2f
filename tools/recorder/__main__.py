"""Record what kube-scheduler decides for scenarios, with the framework of a release linked in.

Usage: python -m tools.recorder verify FOLDER --release X.Y.Z
       python -m tools.recorder record FOLDER TARGET --release X.Y.Z
       python -m tools.recorder generate TARGET --release X.Y.Z [--seed N]

`verify` records the scenarios of a folder again and prints which decisions are not those that the
folder has; it exits with 1 if there is one. `record` writes the decisions into another folder.
`generate` records the scenarios of tools/recorder/scenarios, which are drawn from a seed. Needs Go;
a release that was not built before is built first.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.go_modules import Impossible, tag
from tools.recorder import running, scenarios
from tools.recorder.build import build

# Differences that `verify` prints of a scenario.
SHOWN = 3


def verify(recorded: dict[str, bytes], release: str) -> int:
    """Print which scenarios a release decides otherwise, and how many it does not."""
    total = equal = 0
    for name, found in running.verify(build(release), recorded):
        total += 1
        equal += not found
        for difference in found[:SHOWN]:
            print(f"{name}: {difference}")
    print(f"recorder: {tag(release)} decides {equal} of {total} scenarios as recorded")
    return 0 if equal == total else 1


def record(drawn: dict[str, bytes], target: Path, release: str) -> int:
    """Record scenarios with a release."""
    count = running.record(build(release), drawn, target)
    print(f"recorder: {count} scenarios recorded with {tag(release)}")
    return 0


def read_folder(folder: Path) -> dict[str, bytes]:
    """Return the scenarios of a folder; end the program if there are none."""
    found = running.read_folder(folder)
    if not found:
        sys.exit(f"recorder: {folder} has no files of scenarios (*{running.SUFFIX})")
    return found


def main(argv: list[str]) -> int:
    """Run a command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.recorder",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("verify", "record", "generate"):
        command = commands.add_parser(name)
        if name != "generate":
            command.add_argument("folder", type=Path, help="files of scenarios, *.jsonl.gz")
        else:
            command.add_argument("--seed", type=int, default=scenarios.SEED)
        if name != "verify":
            command.add_argument("target", type=Path, help="the folder to write into")
        command.add_argument("--release", required=True, help="a Kubernetes release: 1.37.1")
    chosen = parser.parse_args(argv)
    try:
        if chosen.command == "verify":
            return verify(read_folder(chosen.folder), chosen.release)
        if chosen.command == "record":
            return record(read_folder(chosen.folder), chosen.target, chosen.release)
        return record(scenarios.generate(chosen.seed), chosen.target, chosen.release)
    except (Impossible, running.Refused) as reason:
        print(f"recorder: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
