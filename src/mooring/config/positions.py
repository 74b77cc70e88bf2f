"""Read YAML or JSON into plain data, recording the position of each value.

kube-scheduler reads YAML with a Go parser whose scalars differ from PyYAML's: `y` is a boolean, a
date is a string, `1:30` is a string, `1e3` is a number. The document is therefore composed into
nodes by libyaml and its plain scalars are resolved here.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec
import yaml

from mooring.api.field_errors import FieldError

#: The most values a document may hold after aliases are expanded; a guard, not a format rule.
MAX_VALUES = 100_000
#: The most levels a document may nest.
MAX_DEPTH = 200

_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
_INTEGER = re.compile(r"[-+]?(0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO]?[0-7_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_PAIR = re.compile(
    r"((?<!\\)(?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
}


class Mark(msgspec.Struct, frozen=True):
    """A position in a text; line and column count from 1."""

    line: int
    column: int


class Positions:
    """A map from a path such as `profiles[0].plugins` to the positions of its key and its value."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.keys: dict[str, Mark] = {}
        self.values: dict[str, Mark] = {}

    def find(self, path: str, *, key: bool = False) -> Mark | None:
        """Return the position of a value (or of its key), or of the nearest value around it."""
        first = self.keys if key else self.values
        while True:
            mark = first.get(path) or self.values.get(path)
            if mark is not None or not path:
                return mark
            path = parent(path)


class Document(msgspec.Struct):
    """One parsed document: its data, the positions, and its errors and warnings."""

    data: Any
    positions: Positions
    errors: list[tuple[FieldError, Mark | None]]
    warnings: list[str]


def parent(path: str) -> str:
    """Return the path that encloses a path.

    >>> parent("profiles[0].plugins"), parent("profiles[0]"), parent("profiles")
    ('profiles[0]', 'profiles', '')
    """
    if path.endswith("]"):
        return path[: path.rindex("[")]
    return path.rpartition(".")[0]


def field_path(path: str, key: str) -> str:
    """Return the path of a mapping's key; a key with special characters is put in brackets."""
    if not re.fullmatch(r"[A-Za-z0-9_*-]+", key):
        return f"{path}[{key.replace('[', '(').replace(']', ')')}]"
    return f"{path}.{key}" if path else key


def parse(text: str) -> Document:
    """Read the first document of a text; problems go to `errors` and are never raised."""
    reader = _Reader()
    if text.lstrip().startswith("{"):
        # JSON may be indented with tabs, which YAML forbids; a JSON string contains no raw tabs.
        # YAML does not know JSON's surrogate pairs either: one character as two \u escapes.
        text = _PAIR.sub(_join_pair, text.replace("\t", " "))
    try:
        deep = _too_deep(text)
        if deep is not None:
            message = f"must nest at most {MAX_DEPTH} levels deep"
            return Document(None, reader.positions, [(FieldError("", message), deep)], [])
        loader = _Loader(text)
        try:
            root = loader.get_node() if loader.check_node() else None
            if root is not None:
                reader.data = reader.read(root, "")
            if loader.check_node() and not _is_empty(loader.get_node()):
                reader.warnings.append(
                    "only the first YAML document is read; the file holds more than one"
                )
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark or error.context_mark
        mark = None if place is None else Mark(place.line + 1, place.column + 1)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        reader.errors.append((FieldError("", f"not valid YAML: {words}"), mark))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        mark = Mark(before.count("\n") + 1, len(before) - before.rfind("\n"))
        reader.errors.append((FieldError("", f"not valid YAML: {error.reason}"), mark))
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        reader.errors.append((FieldError("", f"not valid YAML: {error}"), None))
    return Document(reader.data, reader.positions, reader.errors, reader.warnings)


class _Loader(yaml.CSafeLoader):
    """A loader that composes nodes and tags plain scalars, for `resolve_plain` to interpret."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else f"{_TAG}str"
        tag = "seq" if kind is yaml.SequenceNode else "map"
        return f"{_TAG}{tag}"


class _Reader:
    def __init__(self) -> None:
        self.data: Any = None
        self.positions = Positions()
        self.errors: list[tuple[FieldError, Mark | None]] = []
        self.warnings: list[str] = []
        self._count = 0
        self._open: set[int] = set()

    def read(self, node: yaml.Node, path: str) -> Any:
        mark = _mark(node)
        self.positions.values.setdefault(path, mark)
        self._count += 1
        if self._count > MAX_VALUES:
            if self._count == MAX_VALUES + 1:
                self._add(path, f"must hold at most {MAX_VALUES} values, aliases expanded", mark)
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._open:
            self._add(
                path, "must not contain itself: the anchor's value refers to the anchor", mark
            )
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.read(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        data: dict[str, Any] = {}
        merged: list[yaml.Node] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._add(path, "must have plain keys, got a list or a mapping as key", _mark(key))
                continue
            if key.value == "<<" and key.tag == _PLAIN:
                merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            name = key.value
            where = field_path(path, name)
            if name in data:
                self._add(where, f'key "{name}" already set in map', _mark(key))
                continue
            self.positions.keys[where] = _mark(key)
            data[name] = self.read(value, where)
        for source in merged:
            if not isinstance(source, yaml.MappingNode):
                self._add(
                    path, "map merge requires map or sequence of maps as the value", _mark(source)
                )
                continue
            for name, value in self._merged(source, path).items():
                data.setdefault(name, value)
        return data

    def _merged(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        data = self.read(node, path)
        return data if isinstance(data, dict) else {}

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "binary", "timestamp"):
            return node.value
        if kind not in (_PLAIN, "int", "float", "bool", "null"):
            self._add(path, f"must not carry the tag {node.tag}", _mark(node))
            return None
        value = resolve_plain(node.value)
        if isinstance(value, float) and not math.isfinite(value):
            self._add(path, f"must be a finite number, got {node.value}", _mark(node))
            return None
        return value

    def _add(self, path: str, message: str, mark: Mark | None) -> None:
        self.errors.append((FieldError(path, message), mark))


def _join_pair(found: re.Match[str]) -> str:
    high, low = int(found[2], 16) - 0xD800, int(found[3], 16) - 0xDC00
    return f"{found[1]}\\U{0x10000 + (high << 10) + low:08x}"


def _too_deep(text: str) -> Mark | None:
    # libyaml composes nodes recursively and would exhaust the C stack; its events are flat.
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                place = event.start_mark
                return Mark(1, 1) if place is None else Mark(place.line + 1, place.column + 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


def resolve_plain(text: str) -> Any:
    """Return the value that Go's YAML parser gives an unquoted scalar.

    >>> resolve_plain("y"), resolve_plain("1e3"), resolve_plain("2020-01-01")
    (True, 1000, '2020-01-01')
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        digits = text.replace("_", "")
        sign, body = (-1, digits[1:]) if digits[0] == "-" else (1, digits.lstrip("+"))
        if len(body) > 1 and body[0] == "0" and body[1].isdigit():
            body = f"0o{body[1:]}" if re.fullmatch("[0-7]+", body) else body.lstrip("0") or "0"
        try:
            return sign * int(body, 0)
        except ValueError:
            return text
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return text


def _is_empty(node: yaml.Node | None) -> bool:
    return node is None or (isinstance(node, yaml.ScalarNode) and node.value == "")


def _mark(node: yaml.Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
