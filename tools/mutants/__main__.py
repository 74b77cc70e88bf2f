"""Draw mutants of some rooms from a seed, run their tests, and print those that no test notices."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from tools.mutants import drawing, running
from tools.mutants.drawing import Mutant
from tools.mutants.running import Room

ROOMS = ["queue", "cache", "binding", "cycle", "client"]
#: Variables that name the programs of slow tests; without them these tests are skipped.
REAL_PARTS = ["KUBE_APISERVER", "ETCD", "KUBE_SCHEDULER", "KUBECTL", "MOORING_TESTENV_REQUIRED"]


class Results:
    """The results of the mutants, in a file that forks of this process can write to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.touch()
        self._out = os.dup(sys.stdout.fileno())

    def tell(self, mutant: Mutant, killed: bool, why: str) -> None:
        """Record a result, and print the mutant if it survived."""
        with self._path.open("a") as file:
            file.write("killed\n" if killed else "survived\n")
        if not killed:
            os.write(self._out, f"{mutant}{f' ({why})' if why else ''}\n".encode())

    def print(self, name: str, seconds: float) -> None:
        """Print how many mutants were killed so far."""
        results = self._path.read_text().split()
        killed, count = results.count("killed"), len(results)
        share = f"{100 * killed / count:.1f} %" if count else "none drawn"
        print(f"{name}: killed {killed} of {count}, {share}, in {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--package", type=Path, default=Path("src/mooring"))
    parser.add_argument("--tests", type=Path, default=Path("tests"))
    parser.add_argument("--rooms", nargs="+", default=ROOMS, help="folders of the package")
    parser.add_argument(
        "--patience", type=float, default=20, help="seconds after which a test hangs, at least"
    )
    parser.add_argument("--only", nargs="+", help="of those drawn, the ones whose text has this")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for variable in REAL_PARTS:
        os.environ.pop(variable, None)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        # All files that pytest and the tests leave are deleted with the folder.
        os.environ["MOORING_TESTENV"] = tempfile.tempdir = sys.pycache_prefix = name
        rooms = [
            Room(options.package, room, options.tests, options.patience) for room in options.rooms
        ]
        files = [path for room in rooms for path in room.files]
        drawn = drawing.draw(files, options.seed, options.count)
        if options.only:
            drawn = [each for each in drawn if any(text in str(each) for text in options.only)]
        total = Results(folder / "total")
        for room in rooms:
            mutants = [mutant for mutant in drawn if room.source in mutant.path.parents]
            if mutants:
                running.run(room, mutants, folder, total.tell)
                total.print(f"until {room.name}", time.monotonic() - began)


if __name__ == "__main__":
    main()
