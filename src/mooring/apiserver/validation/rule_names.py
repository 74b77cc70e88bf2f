"""The names of properties in validation rules."""

# apiserver: pkg/cel/escaping.go

from __future__ import annotations

import re

_RESERVED = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    }
)
_ESCAPABLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)
_WRITTEN = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_MARKS = re.compile(r"__|[./-]")


def escape(name: str) -> str | None:
    """Return a property's name as rules write it, or None if rules cannot refer to it.

    >>> escape("my-name"), escape("in"), escape("a b")
    ('my__dash__name', '__in__', None)
    """
    if name in _RESERVED:
        return f"__{name}__"
    if _ESCAPABLE.fullmatch(name) is None:
        return None
    return _MARKS.sub(lambda match: _WRITTEN[match[0]], name)
