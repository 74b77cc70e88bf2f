"""Compare the local cluster with a real one: `python -m benchmarks.local`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.local import churn, fan_out, first_bind, load, requests, scheduling, start
from benchmarks.local.report import Figure, heading, lines
from benchmarks.local.servers import LOCAL, REAL, Server, local, real

_SECTIONS = ("requests", "watches", "scheduling", "load", "churn", "start")
#: The sections that run clusters of their own.
_ALONE = {"load", "churn", "start"}


def main(argv: list[str] | None = None) -> int:
    """Run the chosen sections. There are no targets, so no figure fails the run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(_SECTIONS)}; default: all")
    parser.add_argument("--count", type=int, default=1000, help="requests of each kind")
    parser.add_argument("--watches", type=int, default=50)
    parser.add_argument("--events", type=int, default=400)
    parser.add_argument("--nodes", type=int, default=1000, help="nodes of the load")
    parser.add_argument("--pods", type=int, default=10_000, help="pods of the load")
    parser.add_argument("--churn", type=int, default=5000, help="pods that come and go")
    parser.add_argument("--idle", type=int, default=5000, help="nodes of the section start")
    args = parser.parse_args(argv)
    unknown = sorted(set(args.sections) - set(_SECTIONS))
    if unknown:
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(_SECTIONS)}")
    chosen = set(args.sections or _SECTIONS)
    with tempfile.TemporaryDirectory(prefix="mooring-bench-") as name:
        folder = Path(name)
        if chosen - _ALONE:
            _compare(folder, chosen, args)
        if "load" in chosen:
            print(flush=True)
            for line in asyncio.run(load.measure(folder, args.nodes, args.pods)).lines():
                print(line, flush=True)
        if "churn" in chosen:
            print(flush=True)
            for line in asyncio.run(churn.measure(folder, args.churn)).lines():
                print(line, flush=True)
        if "start" in chosen:
            print(flush=True)
            for line in asyncio.run(start.measure(folder, args.idle)).lines():
                print(line, flush=True)
            for line in asyncio.run(first_bind.measure(folder / "first-bind", args.idle)):
                print(line, flush=True)
    return 0


def _compare(folder: Path, chosen: set[str], args: argparse.Namespace) -> None:
    """Measure both servers, one after the other, so that each has the machine to itself."""
    found: list[list[Figure]] = []
    for make in (real, lambda folder: local(folder, 0)):
        with make(folder) as server:
            print(f"{server.name}: ready after {server.seconds_to_start:.2f} s", flush=True)
            figures = asyncio.run(_figures(server, folder, chosen, args))
            memory = server.peak_megabytes()
            found.append([*figures, Figure("memory at most", "MiB", memory, lower=True)])
    print(heading(REAL, LOCAL))
    for line in lines(found[0], found[1]):
        print(line, flush=True)
    if "scheduling" in chosen:
        with local(folder, scheduling.NODE_COUNT) as server:
            for line in asyncio.run(scheduling.inside(server, args.count)):
                print(line, flush=True)


async def _figures(
    server: Server, folder: Path, chosen: set[str], args: argparse.Namespace
) -> list[Figure]:
    found: list[Figure] = []
    if "requests" in chosen:
        for connections in (1, 16):
            found += await requests.measure(server, connections, args.count)
    if "watches" in chosen:
        found += await fan_out.measure(server, args.watches, args.events)
    if "scheduling" in chosen:
        found += await scheduling.outside(server, folder, args.count)
    return found


if __name__ == "__main__":
    sys.exit(main())
