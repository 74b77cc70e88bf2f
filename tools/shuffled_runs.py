"""Run the tests several times, each time in another random order, on a machine that is kept busy.

Usage: python -m tools.shuffled_runs [--runs 5] [--first SEED] [--burners 2] [PYTEST-ARGUMENTS]

Each run has a seed, which `pytest --order-seed` turns into an order. Burners are processes that use
a core each while the tests run. The exit status is 1 if a run failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# Ends when this process has ended, however it ended.
_BURN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def burning(burners: int) -> Iterator[None]:
    """Keep some cores busy."""
    command = [sys.executable, "-c", _BURN, str(os.getpid())]
    processes = [subprocess.Popen(command) for _ in range(burners)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def run(seed: int, arguments: list[str]) -> int:
    """Run the tests in one order; return the exit status."""
    command = [sys.executable, "-m", "pytest", f"--order-seed={seed}", *arguments]
    print(f"run with {' '.join(command[1:])}", flush=True)
    return subprocess.run(command).returncode


def main(arguments: list[str]) -> int:
    """Run the tests in each order and print the result of each; return 0 if all passed."""
    parser = argparse.ArgumentParser(
        prog="shuffled_runs", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--runs", type=int, default=5, help="how many runs (default: 5)")
    parser.add_argument("--first", type=int, default=1, help="the seed of the first (default: 1)")
    parser.add_argument("--burners", type=int, default=2, help="processes that burn a core each")
    options, more = parser.parse_known_args(arguments)
    results: list[str] = []
    failed = False
    with burning(options.burners):
        for seed in range(options.first, options.first + options.runs):
            started = time.monotonic()
            status = run(seed, more)
            minutes = (time.monotonic() - started) / 60
            failed |= status != 0
            result = "passed" if status == 0 else f"FAILED with status {status}"
            results.append(f"--order-seed={seed}: {result} in {minutes:.1f} minutes")
    print(*results, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
