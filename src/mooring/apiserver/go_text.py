"""Plain values formatted as by Go's fmt, for messages copied from kube-apiserver."""

from __future__ import annotations

from typing import Any


def go_text(value: Any) -> str:
    """Return a value as `%v` prints it: `map[a:1 b:[x y]]`.

    >>> go_text({"b": [1, None], "a": True})
    'map[a:true b:[1 <nil>]]'
    """
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list | tuple):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
