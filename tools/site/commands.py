"""The pages of commands and flags, made from the parsers themselves."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import cast

from mooring.app.flag_table import ALL
from mooring.cli.main import make_parser

#: Lines of usage are as wide as code blocks of the site.
_WIDTH = "100"


def commands_page() -> str:
    """Return the page of every subcommand: its description, usage and options."""
    os.environ["COLUMNS"] = _WIDTH
    blocks = ["# Commands", "`mooring COMMAND --help` prints the same."]
    for name, parser in sorted(_subcommands(make_parser())):
        blocks += [f"## mooring {name}", parser.description or "", _fenced(parser)]
    return "\n\n".join(filter(None, blocks)) + "\n"


def flags_page() -> str:
    """Return the page of the flags of `mooring run` and `mooring-kube-scheduler`."""
    blocks = ["# Scheduler flags", "The flags of `mooring run` and of `mooring-kube-scheduler`."]
    for group in ALL:
        rows = ["| Flag | Default | Meaning |", "|---|---|---|"]
        for flag in group.flags:
            default = f"`{flag.default}`" if str(flag.default) else ""
            rows.append(f"| `--{flag.name}` | {default} | {_cell(flag.help)} |")
        blocks += [f"## {group.title}", "\n".join(rows)]
    return "\n\n".join(blocks) + "\n"


def _subcommands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            # typeshed knows the choices as a mapping of any values.
            yield from cast("dict[str, argparse.ArgumentParser]", action.choices).items()


def _fenced(parser: argparse.ArgumentParser) -> str:
    return f"```text\n{parser.format_help().rstrip()}\n```"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
