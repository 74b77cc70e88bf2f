"""`mooring controllers`: write the status of PodGroups and ElasticQuotas of a cluster."""

from __future__ import annotations

import argparse
import functools


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `controllers`."""
    # The flags have their own parser, that of `mooring run`; argparse must not see them as options.
    parser = subparsers.add_parser(
        "controllers",
        help="write the status of PodGroups and ElasticQuotas of a cluster",
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # Imported here, because the other commands need neither a server nor a client.
    from mooring.app.controllers_command import run_controllers_command
    from mooring.app.controllers_process import run_controllers
    from mooring.controllers.controllers import SCHEDULING_KINDS, Controllers
    from mooring.observe.output import steady_output
    from mooring.serve.acceptor import raise_open_files_limit

    make = functools.partial(Controllers, kinds=SCHEDULING_KINDS)
    raise_open_files_limit()
    with steady_output():
        return run_controllers_command(args.flags, functools.partial(run_controllers, make=make))
