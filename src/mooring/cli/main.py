"""The `mooring` command: finds the subcommands and runs one.

Every module of this package with an `add_parser(subparsers)` is a subcommand. It adds a parser
whose default `run` is a function from the parsed arguments to the exit status. `args.plugins` holds
the plugin classes that were passed to `main`, `args.command_line` the interpreter arguments that
run the same command again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from types import ModuleType

import mooring.cli
from mooring.errors import MooringError
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
        print(_in_lines(error), file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of the output is gone; redirect stdout so that exiting prints no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with every subcommand."""
    parser = argparse.ArgumentParser(
        prog="mooring", description="The Kubernetes scheduling framework in Python."
    )
    parser.add_argument("--version", action="version", version=f"mooring {version('mooring')}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _commands():
        command.add_parser(subparsers)
    return parser


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    args = make_parser().parse_args(argv)
    args.command_line = sys.orig_argv[1:] if argv is None else ["-c", _AGAIN, *argv]
    return args


def _commands() -> list[ModuleType]:
    names = sorted(module.name for module in pkgutil.iter_modules(mooring.cli.__path__))
    modules = (importlib.import_module(f"mooring.cli.{name}") for name in names if name != "main")
    return [module for module in modules if hasattr(module, "add_parser")]


def _in_lines(error: MooringError) -> str:
    return "\n".join(
        line if line.startswith("advice: ") else f"error: {line}" for line in str(error).split("\n")
    )
