"""The `mooring` command: loads the subcommand that a command line names, and runs it.

The module of a subcommand has an `add_parser(subparsers)`. It adds a parser whose default `run` is
a function from the parsed arguments to the exit status. `args.plugins` holds the plugin classes
that were passed to `main`, `args.command_line` the interpreter arguments that run the same command
again. The modules import only what the flags need; `run` imports the rest, so that help and
mistakes are printed without numpy, plugins or a server.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from mooring import __version__
from mooring.cli.commands import COMMANDS
from mooring.cli.messages import print_error
from mooring.errors import MooringError

if TYPE_CHECKING:
    from mooring.framework.plugin import Plugin

_AGAIN = "import sys; from mooring.cli.main import main; sys.exit(main())"


def main(argv: Sequence[str] | None = None, *, plugins: Iterable[type[Plugin]] = ()) -> int:
    """Run the command line and return the exit status: 1 for bad input, 2 for wrong usage.

    `plugins` are registered in addition to the built-ins, so three lines of code make a scheduler
    with its own plugin.
    """
    try:
        args = _parse(argv)
        args.plugins = tuple(plugins)
        status: int = args.run(args)
        sys.stdout.flush()
    except MooringError as error:
        print_error(error)
        return 1
    except BrokenPipeError:
        # The reader of the output is gone; redirect stdout so that exiting prints no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def make_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command line; with `only`, flags of that command alone."""
    parser = argparse.ArgumentParser(
        prog="mooring", description="The Kubernetes scheduling framework in Python."
    )
    parser.add_argument("--version", action="version", version=f"mooring {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(run=None)
    for name, command in COMMANDS.items():
        if only is None or only == name:
            importlib.import_module(f"mooring.cli.{command.module}").add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=command.help, add_help=False)
    return parser


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    words = sys.argv[1:] if argv is None else argv
    # The flags before a command have no values.
    parser = make_parser(next((word for word in words if not word.startswith("-")), ""))
    args, unknown = parser.parse_known_args(words)
    if unknown:
        # Reported by the command itself, whose usage helps more than that of `mooring`.
        _find_parser(parser, args).error(f"unrecognized arguments: {' '.join(unknown)}")
    if args.run is None:
        args.run = _print_help
        args.parser = parser
    args.command_line = sys.orig_argv[1:] if argv is None else ["-c", _AGAIN, *argv]
    return args


def _find_parser(
    parser: argparse.ArgumentParser, args: argparse.Namespace
) -> argparse.ArgumentParser:
    """Return the parser of the subcommand that arguments were parsed for."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                runs = {one.get_default("run") for one in _all_parsers(sub)}
                if args.run is not None and args.run in runs:
                    return _find_parser(sub, args)
    return parser


def _all_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _all_parsers(sub)


def _print_help(args: argparse.Namespace) -> int:
    args.parser.print_help()
    return 0
