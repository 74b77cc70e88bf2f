"""The words of a plugin: string constants in its code and its args.

A rule about the label cpu=true never matches in a cluster that contains neither "cpu" nor "true".
Generated clusters are therefore labelled with the words found in the plugin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import msgspec

from mooring.framework.plugin import Plugin

_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class Words(msgspec.Struct, frozen=True):
    """Keys and values that a plugin may look for in labels and annotations."""

    keys: tuple[str, ...]
    values: tuple[str, ...]


def words_of(plugin: type[Plugin], args: Any = None) -> Words:
    """Return the words in a plugin's code, in what the code uses of its module, and in its args."""
    found: set[str] = set()
    seen: set[int] = set()
    for cls in plugin.__mro__:
        if cls not in (Plugin, object):
            for member in vars(cls).values():
                _collect(member, found, seen)
    if args is not None:
        found.update(_texts(msgspec.to_builtins(args, enc_hook=str)))
    texts = sorted(found)
    return Words(
        tuple(text for text in texts if _KEY.fullmatch(text)),
        tuple(text for text in texts if _VALUE.fullmatch(text)),
    )


def _collect(member: Any, found: set[str], seen: set[int]) -> None:
    function = getattr(member, "__func__", getattr(member, "fget", member))
    if isinstance(function, str):
        found.add(function)
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    for code in _codes(function.__code__):
        found.update(_texts(code.co_consts))
        for name in code.co_names:
            used = function.__globals__.get(name)
            if isinstance(used, str):
                found.add(used)
            elif isinstance(used, FunctionType) and used.__module__ == function.__module__:
                _collect(used, found, seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item)
