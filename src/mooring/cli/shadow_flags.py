"""The flags of `mooring shadow`."""

from __future__ import annotations

import argparse

from mooring.api.durations import Duration
from mooring.cli.commands import COMMANDS
from mooring.cli.journal_flags import add_journal_flags
from mooring.cli.rule_flags import add_rule_flags

_EPILOG = """\
For each pod that the cluster's scheduler places, a decision is taken on the state before its bind
was seen. Rights to list and watch what a scheduler reads are enough, and nothing is written.
Without --for, it ends with Ctrl-C; either way it prints the whole comparison at the end.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `shadow`."""
    parser = subparsers.add_parser(
        "shadow",
        help=COMMANDS["shadow"].help,
        description="Follow a cluster that another scheduler serves, and compare its decisions.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rule_flags(parser)
    add_journal_flags(parser)
    parser.add_argument(
        "--for",
        dest="duration",
        type=_duration,
        metavar="TIME",
        help="how long to follow it, such as 30s or 1h",
    )
    parser.add_argument(
        "--their-config",
        metavar="FILE",
        help="the KubeSchedulerConfiguration of the cluster's scheduler, to which differences are "
        "attributed; by default the default configuration",
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")
    parser.set_defaults(run=_run)


def _duration(text: str) -> float:
    try:
        seconds = Duration.parse(text).seconds
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f'"{text}" is not above 0')
    return seconds


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.shadow import run

    return run(args)
