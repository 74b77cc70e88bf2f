"""Plain-text tables: columns as wide as their content, headers folded between words."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Sequence

#: Headers are folded to about this width.
HEADER_WIDTH = 12

_GAP = "  "
# TaintToleration: Taint, Toleration; CSIStorage: CSI, Storage; sample-plugin: sample, -plugin.
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+|[^A-Za-z0-9]+[A-Za-z0-9]*")


def fold(name: str, width: int = HEADER_WIDTH) -> list[str]:
    """Break a name between its words into lines of about `width`.

    >>> fold("NodeResourcesBalancedAllocation")
    ['Node', 'Resources', 'Balanced', 'Allocation']
    >>> fold("NodePorts"), fold("sample-plugin")
    (['NodePorts'], ['sample', '-plugin'])
    """
    lines: list[str] = []
    for word in _WORD.findall(name) or [name]:
        if lines and len(lines[-1]) + len(word) <= width:
            lines[-1] += word
        else:
            lines.append(word)
    return lines


def table(
    headers: Sequence[str | Sequence[str]], rows: Sequence[Sequence[str]], *, indent: str = ""
) -> list[str]:
    """Return the lines of a table; a header may have several lines."""
    folded = [[header] if isinstance(header, str) else list(header) for header in headers]
    above = [list(line) for line in itertools.zip_longest(*folded, fillvalue="")]
    lines = [*above, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        indent
        + _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def wrap(text: str, width: int | None, *, indent: str = "") -> list[str]:
    """Break a text into lines of at most `width`, the second and later ones indented."""
    if width is None:
        return [text]
    return textwrap.wrap(
        text,
        max(width, 20),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
