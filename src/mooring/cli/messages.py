"""What commands print for people: warnings, errors, and colour where a terminal shows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from mooring.errors import ADVICE

RED = "31"
GREEN = "32"
YELLOW = "33"
BOLD = "1"

#: C0 and C1 controls, and characters that change the direction or the lines of text.
_CONTROLS = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0a-\x1f{_CONTROLS}]")
#: In JSON, the others are escaped already; line breaks are between its lines.
_CONTROL_IN_JSON = re.compile(f"[{_CONTROLS}]")


def has_colour(stream: TextIO) -> bool:
    """Return whether to use colour: on a terminal, unless $NO_COLOR is set or $TERM is dumb."""
    # https://no-color.org: any text but the empty one.
    is_wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return is_wanted and stream.isatty()


def painted(text: str, colour: str, stream: TextIO) -> str:
    """Return a text in a colour, if the stream shows colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if has_colour(stream) else text


def printable(text: str) -> str:
    """Return a line in which control characters and those that reorder text are escaped.

    Objects, plugins and journals may hold any text; on a terminal it could move the cursor or
    change what is shown.

    >>> printable("web\\x1b[2J")
    'web\\\\x1b[2J'
    """
    return _CONTROL.sub(_escaped, text)


def printable_lines(lines: Iterable[str]) -> str:
    """Return lines as one text to print; a line break within a line is escaped too."""
    return "\n".join(map(printable, lines))


def printable_json(data: Any) -> str:
    """Return data as indented JSON, with the escapes of JSON for what `printable` escapes."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return _CONTROL_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_yaml(data: Any) -> str:
    """Return data as YAML, escaped if it holds what `printable` escapes."""
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=2**31)
    if _CONTROL_IN_JSON.search(text):
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=False, width=2**31)
    return text


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def warn(warnings: Iterable[str]) -> None:
    """Print warnings to standard error."""
    word = painted("warning:", YELLOW, sys.stderr)
    for warning in warnings:
        print(f"{word} {printable_lines(warning.splitlines())}", file=sys.stderr, flush=True)


def print_error(error: BaseException) -> None:
    """Print an error to standard error; each of its lines is an error, or advice about one."""
    word = painted("error:", RED, sys.stderr)
    for line in str(error).split("\n"):
        shown = printable(line)
        print(shown if line.startswith(ADVICE) else f"{word} {shown}", file=sys.stderr)


def terminal_width() -> int | None:
    """Return the width of the terminal or COLUMNS; None to leave lines unbroken."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        return shutil.get_terminal_size().columns
    return None
