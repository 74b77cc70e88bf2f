"""`mooring run`: run as a scheduler, with kube-scheduler's flags.

The same under the name `mooring-kube-scheduler`, which takes the bare flags, for images and
manifests that expect kube-scheduler. It reads what kube-scheduler 1.36 reads: configuration files
of version v1. `mooring run` reads the older versions too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from mooring.framework.plugin import Plugin


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run`."""
    # kube-scheduler's flags are read by a parser of their own; to argparse nothing begins one.
    parser = subparsers.add_parser(
        "run",
        help="run as a scheduler, with kube-scheduler's flags",
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    parser.set_defaults(run=_run)


def main(argv: Sequence[str] | None = None, *, plugins: Iterable[type[Plugin]] = ()) -> int:
    """Run `mooring-kube-scheduler` and return the exit status."""
    flags = sys.argv[1:] if argv is None else argv
    return _run_command(flags, plugins, "mooring-kube-scheduler", current_only=True)


def _run(args: argparse.Namespace) -> int:
    return _run_command(args.flags, args.plugins, "mooring run", current_only=False)


def _run_command(
    flags: Sequence[str], plugins: Iterable[type[Plugin]], program: str, *, current_only: bool
) -> int:
    # Loaded when needed: a server and a client are nothing to the other commands.
    from mooring.app.command import run_command
    from mooring.app.run import run_scheduler
    from mooring.observe.output import steady_output
    from mooring.serve.acceptor import raise_open_files_limit

    raise_open_files_limit()
    # A plugin may print as much as it likes to a pipe that nobody reads.
    with steady_output():
        return run_command(
            flags, run_scheduler, plugins=plugins, program=program, current_only=current_only
        )
