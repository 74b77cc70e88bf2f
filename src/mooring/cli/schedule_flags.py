"""The flags of `mooring schedule`."""

from __future__ import annotations

import argparse
import sys

from mooring.cli.commands import COMMANDS
from mooring.cli.gate_flags import add_gate_flags

#: Exit status with --fail-on-pending if a pod was not scheduled.
NOT_ALL_SCHEDULED = 3

_EPILOG = """\
Objects are given what the API server would give them: defaults, priorities, storage classes.
Pods without spec.nodeName are scheduled in queue order. Exit status: 0 if the run worked, even if
pods stay pending; 1 for bad input; 2 for wrong usage; 3 if a pod stays pending and
--fail-on-pending is given; 4 if a plugin raised an exception.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `schedule`."""
    parser = subparsers.add_parser(
        "schedule",
        help=COMMANDS["schedule"].help,
        description="Schedule the pending pods of some manifests in memory, and print where they "
        "go or why they stay pending.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        required=True,
        metavar="FILE",
        help='the manifests: a file, a folder, or "-" for standard input; may be repeated',
    )
    parser.add_argument("--config", metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    add_gate_flags(parser)
    parser.add_argument("-o", "--output", choices=("table", "json", "yaml"), default="table")
    parser.add_argument(
        "--explain",
        action="append",
        default=[],
        metavar="POD",
        help="print the answer of every plugin about every node for a pod, by name or "
        "namespace/name; a pod that has a node is examined as if it had none; may be repeated",
    )
    parser.add_argument(
        "--nodes",
        type=shown_nodes,
        metavar="N|all",
        help="with --explain, show what each plugin said of N nodes, or of all of them",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of the choice among nodes with equal scores",
    )
    parser.add_argument(
        "--fail-on-pending",
        action="store_true",
        help=f"exit with status {NOT_ALL_SCHEDULED} if a pod was not scheduled",
    )
    parser.set_defaults(run=_run)


def shown_nodes(text: str) -> int:
    """Return how many nodes `--nodes` asks for; "all" is more than any cluster has."""
    if text == "all":
        return sys.maxsize
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is neither "all" nor a number above 0')
    return int(text)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.schedule import run

    return run(args)
