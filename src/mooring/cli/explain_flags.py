"""The flags of `mooring explain`."""

from __future__ import annotations

import argparse

from mooring.cli.commands import COMMANDS
from mooring.cli.journal_rules import add_trust_flag
from mooring.cli.rule_flags import add_rule_flags
from mooring.cli.schedule_flags import shown_nodes
from mooring.cli.scheduler_flags import add_scheduler_flags

_EPILOG = """\
If a Mooring leads, it is asked, through `kubectl port-forward` or --scheduler: it answers about the
attempt that it made. Otherwise, or with --now, --config or --plugin, the question is asked here and
now, by Mooring's rules: those of --config and --plugin, or else of the default configuration. Then
the cluster may be served by any scheduler, rights to list and watch what a scheduler reads are
enough, and a pod that has a node is asked about as if it were not there. Nothing is written.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `explain`."""
    parser = subparsers.add_parser(
        "explain",
        help=COMMANDS["explain"].help,
        description="Say why a pod of a cluster is where it is, or why it waits.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pod", metavar="POD", help="the pod's name, or namespace/name")
    parser.add_argument(
        "-n", "--namespace", default="", help="its namespace; by default that of the context"
    )
    parser.add_argument(
        "--attempt", type=_attempt, metavar="N", help="the attempt to explain; by default the last"
    )
    add_scheduler_flags(
        parser,
        lease_default="that of the pod's schedulerName in kube-system, or kube-scheduler",
    )
    parser.add_argument(
        "--now", action="store_true", help="ask here and now, even if a Mooring leads"
    )
    parser.add_argument(
        "--journal",
        metavar="DIR",
        help="explain an attempt that a journal holds, also of a pod that is gone; no cluster is "
        "asked",
    )
    add_trust_flag(parser)
    add_rule_flags(parser)
    parser.add_argument(
        "--nodes",
        type=shown_nodes,
        metavar="N|all",
        help="show what each plugin said of N nodes, or of all of them",
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    parser.set_defaults(run=_run)


def _attempt(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number above 0')
    return int(text)


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.explain import run

    return run(args)
