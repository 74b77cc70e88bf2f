"""The flags of `mooring ui`."""

from __future__ import annotations

import argparse

from mooring.cli.commands import COMMANDS
from mooring.cli.journal_rules import add_trust_flag
from mooring.cli.rule_flags import add_rule_flags
from mooring.cli.scheduler_flags import add_scheduler_flags

_EPILOG = """\
The cluster may be served by any scheduler. The page has the rights of the kubeconfig, and rights to
list and watch what a scheduler reads are enough: nothing is written. If the leading scheduler is a
Mooring, the page shows the attempts that it made, as `mooring explain` does; it reaches the leader
through `kubectl port-forward` or --scheduler. The page's own explanations and its what-if questions
apply Mooring's rules to the cluster as it is now: those of --config and --feature-gates, or else
the leader's configuration and feature gates if its plugins are those of --plugin, or else the
default configuration with these. An answer to a what-if question says if these are not the rules of
the leader.
The page listens on loopback only, and answers only requests that have the token of the printed
address. Ctrl-C ends it.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `ui`."""
    parser = subparsers.add_parser(
        "ui",
        help=COMMANDS["ui"].help,
        description="Show nodes, pending pods, decisions and their reasons in a browser.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_rule_flags(parser)
    add_scheduler_flags(
        parser,
        lease_default="kube-system/kube-scheduler, or in kube-system those with the names of the "
        "pods' schedulers",
    )
    parser.add_argument(
        "--port", type=_port, default=0, help="the port on 127.0.0.1; by default a free one"
    )
    parser.add_argument(
        "--journal",
        metavar="DIR",
        help="show the past from the folder that was given to --journal, and no cluster",
    )
    add_trust_flag(parser)
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address without opening a browser"
    )
    parser.set_defaults(run=_run)


def _port(text: str) -> int:
    port = int(text) if text.isdecimal() else -1
    if not 0 <= port < 2**16:
        raise argparse.ArgumentTypeError(f'"{text}" is not a port from 0 to 65535')
    return port


def _run(args: argparse.Namespace) -> int:
    from mooring.cli.ui import run

    return run(args)
