"""`mooring controllers`: write the status of PodGroups and ElasticQuotas of a cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.cli.commands import COMMANDS

if TYPE_CHECKING:
    from mooring.api.quota_requests import PodRequestsMode
    from mooring.app.controllers_command import ControllersSettings
    from mooring.client.client import Client
    from mooring.informers.factory import InformerFactory
    from mooring.observe.clock import Clock


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `controllers`."""
    # The flags have their own parser, that of `mooring run`; argparse must not see them as options.
    parser = subparsers.add_parser(
        "controllers",
        help=COMMANDS["controllers"].help,
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    # Imported here, because the other commands need none of the flags.
    from mooring.app.controllers_command import run_controllers_command
    from mooring.observe.output import steady_output

    with steady_output():
        return run_controllers_command(args.flags, _run_controllers)


def _run_controllers(settings: ControllersSettings) -> int:
    from mooring.app.controllers_process import run_controllers
    from mooring.controllers.controllers import SCHEDULING_KINDS, Controllers
    from mooring.serve.acceptor import raise_open_files_limit

    def make(
        client: Client, informers: InformerFactory, clock: Clock, requests: PodRequestsMode
    ) -> Controllers:
        return Controllers(
            client, informers, clock, kinds=SCHEDULING_KINDS, quota_requests=lambda: requests
        )

    raise_open_files_limit()
    return run_controllers(settings, make=make)
