"""The command line of a simulation that runs seeds."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Protocol


class SeedReport(Protocol):
    """The result of one seed; its text says how to run the seed again."""

    @property
    def violations(self) -> Sequence[str]:
        """Return what was found wrong."""
        ...


def run_seeds(
    run: Callable[[int], SeedReport], module: str, about: str, arguments: Sequence[str] | None
) -> int:
    """Run the seeds that the arguments name, and print those that fail; return the exit status."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--seed", type=int, help="run only this seed, and print its result")
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of these seeds")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    if given.seed is not None:
        seeds = range(given.seed, given.seed + 1)
    failed = 0
    for seed in seeds:
        report = run(seed)
        failed += bool(report.violations)
        if report.violations or given.seed is not None:
            print(report, flush=True)
    print(f"{module}: {len(seeds)} seeds, {failed} failed")
    return 1 if failed else 0
