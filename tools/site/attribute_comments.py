"""Descriptions of attributes: the `#:` comments above them, or behind them on the same line."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import griffe

_ABOVE = re.compile(r"\s*#: ?(.*)")
_BEHIND = re.compile(r".*?\S\s+#: ?(.*)")


def described(lines: list[str], index: int) -> str:
    """Return the description of the attribute that the line at `index` assigns; "" without one."""
    if behind := _BEHIND.fullmatch(lines[index]):
        return behind[1]
    found: list[str] = []
    while index and (above := _ABOVE.fullmatch(lines[index - 1])):
        found.insert(0, above[1])
        index -= 1
    return " ".join(found)


def of_class(cls: type) -> dict[str, str]:
    """Return the descriptions of a class's own and inherited attributes, by name."""
    found: dict[str, str] = {}
    for owner in reversed(cls.__mro__[:-1]):
        try:
            lines = textwrap.dedent(inspect.getsource(owner)).splitlines()
        except (OSError, TypeError):
            continue
        for index, line in enumerate(lines):
            if assigned := re.match(r"    (\w+): ", line):
                found[assigned[1]] = described(lines, index)
    return found


class AttributeComments(griffe.Extension):
    """The griffe extension that reads `#:` comments as docstrings."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Describe an attribute that has no docstring."""
        if attr.docstring is not None or attr.lineno is None:
            return
        if text := described(attr.lines_collection[attr.filepath], attr.lineno - 1):
            attr.docstring = griffe.Docstring(text, parent=attr)
