"""`mooring list`: list the local clusters that run."""

from __future__ import annotations

import argparse
import time

from mooring.cli.commands import COMMANDS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "list",
        help=COMMANDS["list"].help,
        description="List the local clusters that `mooring up` runs for this user, wherever they "
        "were started.",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # Imported here, because help and completion need none of it.
    from mooring.apiserver.printing.printer import human_duration
    from mooring.cli.cluster_state import running_clusters
    from mooring.explain.tables import table

    clusters = running_clusters()
    if not clusters:
        print("No local cluster runs.")
        return 0
    now = time.time()
    rows = [
        [one.kubeconfig, one.address, str(one.pid), human_duration(now - one.started)]
        for one in clusters
    ]
    print("\n".join(table(["KUBECONFIG", "ADDRESS", "PID", "AGE"], rows)))
    return 0
