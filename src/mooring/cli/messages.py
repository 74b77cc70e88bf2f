"""What commands print for people: warnings, errors, and colour where a terminal shows it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

from mooring.errors import ADVICE

RED = "31"
GREEN = "32"
YELLOW = "33"
BOLD = "1"


def has_colour(stream: TextIO) -> bool:
    """Return whether to use colour: on a terminal, unless $NO_COLOR is set or $TERM is dumb."""
    # https://no-color.org: any text but the empty one.
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_wanted and stream.isatty()


def painted(text: str, colour: str, stream: TextIO) -> str:
    """Return a text in a colour, if the stream shows colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if has_colour(stream) else text


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to standard error."""
    word = painted("warning:", YELLOW, sys.stderr)
    for warning in warnings:
        print(f"{word} {warning}", file=sys.stderr, flush=True)


def print_error(error: BaseException) -> None:
    """Print an error to standard error; each of its lines is an error, or advice about one."""
    word = painted("error:", RED, sys.stderr)
    for line in str(error).split("\n"):
        print(line if line.startswith(ADVICE) else f"{word} {line}", file=sys.stderr)


def terminal_width() -> int | None:
    """Return the width of the terminal or COLUMNS; None to leave lines unbroken."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None
