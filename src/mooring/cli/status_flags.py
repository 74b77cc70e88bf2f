"""The flags of `mooring status`."""

from __future__ import annotations

import argparse
from pathlib import Path

from mooring.cli.commands import COMMANDS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "status",
        help=COMMANDS["status"].help,
        description="Show the version, nodes, pods, profiles, plugins, age, address and log file "
        "of a local cluster. Without --kubeconfig, it is the cluster of $KUBECONFIG; if that is "
        "not set, the cluster of the current folder, or the only one that runs.",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="PATH", help="the kubeconfig of the cluster"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.status import run

    return run(args)
