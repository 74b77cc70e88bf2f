"""`mooring run`: run as a scheduler, with kube-scheduler's flags.

`mooring-kube-scheduler` is the same command without the subcommand, for images and manifests that
expect kube-scheduler. Like kube-scheduler 1.37, it reads only configuration files of version v1.
`mooring run` reads the older versions too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mooring.cli.commands import COMMANDS

if TYPE_CHECKING:
    from mooring.app.command import Command
    from mooring.framework.plugin import Plugin


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run`."""
    # kube-scheduler's flags have their own parser; argparse must treat none of them as an option.
    parser = subparsers.add_parser(
        "run",
        help=COMMANDS["run"].help,
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_run)


def main(argv: Sequence[str] | None = None, *, plugins: Iterable[type[Plugin]] = ()) -> int:
    """Run `mooring-kube-scheduler` and return the exit status."""
    flags = sys.argv[1:] if argv is None else argv
    return _run_command(flags, plugins, "mooring-kube-scheduler", drop_in=True)


def _run(args: argparse.Namespace) -> int:
    return _run_command(args.flags, args.plugins, "mooring run", drop_in=False)


def _run_command(
    flags: Sequence[str], plugins: Iterable[type[Plugin]], program: str, *, drop_in: bool
) -> int:
    # Imported here, because the other commands need none of the flags.
    from mooring.app.command_line import run_command
    from mooring.observe.output import steady_output

    # A plugin may print to a pipe that nobody reads; that must not block the scheduler.
    with steady_output():
        return run_command(flags, _run_scheduler, plugins=plugins, program=program, drop_in=drop_in)


def _run_scheduler(command: Command) -> int:
    from mooring.app.scheduler_process import run_scheduler
    from mooring.serve.acceptor import raise_open_files_limit

    raise_open_files_limit()
    if not command.options.journal:
        return run_scheduler(command)
    from mooring.replay.child_replayer import ChildReplayer

    return run_scheduler(command, ChildReplayer())
