"""The flags of `mooring replay`."""

from __future__ import annotations

import argparse

from mooring.cli.commands import COMMANDS
from mooring.cli.journal_rules import add_trust_flag

_EPILOG = """\
Without --config and --plugin, every decision must come out as it was recorded: node, message and
totals; otherwise the exit status is 3. With other rules, --history recorded decides each attempt on
the recorded state, and --history own lets the new placements stand. Nothing is asked and nothing is
written: extenders answer as recorded. A journal is data: a plugin file that only the journal names
is not loaded.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `replay`."""
    parser = subparsers.add_parser(
        "replay",
        help=COMMANDS["replay"].help,
        description="Decide the attempts of a journal again, by its rules or by others.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="DIR", help="the folder that was given to --journal")
    moment = "a time (RFC 3339), or a duration before the journal's end, such as 10m"
    parser.add_argument("--from", dest="since", metavar="TIME", help=f"begin there: {moment}")
    parser.add_argument("--to", dest="until", metavar="TIME", help=f"end there: {moment}")
    parser.add_argument("--config", metavar="FILE", help="another KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin; without --config, enable it in the recorded configuration, or "
        "replace the recorded one of its name; may be repeated",
    )
    add_trust_flag(parser)
    parser.add_argument(
        "--history",
        choices=("recorded", "own"),
        default="recorded",
        help="decide on the recorded state, or let the new placements stand (default: recorded)",
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "html"), default="text")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.replay import run

    return run(args)
