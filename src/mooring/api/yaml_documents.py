"""YAML documents as plain values, with line numbers.

Values are built straight from the parser's events: for a dump of a large cluster this takes a third
of the time of building nodes first. Nodes, which have every line number, are built only if an error
needs one.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from mooring.api.yaml_values import is_collection_tag, read_plain, read_tagged
from mooring.errors import ObjectError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# A text without aliases has fewer values than characters; aliases may multiply them by this.
_MAX_VALUES_PER_CHARACTER = 10
_MAX_VALUES_ANYWAY = 100_000
# Deep enough for the items of a list within a list.
_LINES_DEPTH = 5
#: How deep a document may nest. Real objects are far below this; libyaml's composer, which
#: recurses, would overflow the stack at some tens of thousands.
MAX_DEPTH = 200


class YamlDocument:
    """One YAML document: its value, and access to line numbers."""

    __slots__ = ("_lines", "_text", "number", "value")

    def __init__(self, value: Any, number: int, lines: dict[int, int], text: str) -> None:
        self.value = value
        #: 1-based; empty documents count too.
        self.number = number
        self._lines = lines
        self._text = text

    def line_of(self, value: Any) -> int | None:
        """Return the 1-based line on which a map near the top of this document begins."""
        return self._lines.get(id(value))

    def line(self, path: str) -> int | None:
        """Return the 1-based line of a path such as `spec.containers[0].image`.

        If the path does not exist, the line of its last existing step is returned. The text is
        parsed again for this; None if that fails because of what follows the document.
        """
        try:
            node = _compose(self._text, self.number)
        except yaml.YAMLError:
            return None
        for step in _steps(path):
            found = _child(node, step)
            if found is None:
                break
            node = found
        return int(node.start_mark.line) + 1


def _compose(text: str, number: int) -> yaml.Node:
    nodes: Iterator[yaml.Node] = yaml.compose_all(text, _Loader)
    return next(itertools.islice(nodes, number - 1, None))


_STEP = re.compile(r"\[([^\]]*)\]|([^.\[]+)")


def _steps(path: str) -> Iterator[str]:
    for match in _STEP.finditer(path):
        yield match[1] if match[2] is None else match[2]


def _child(node: yaml.Node, step: str) -> yaml.Node | None:
    found: yaml.Node | None = None
    if isinstance(node, yaml.SequenceNode):
        if step.isdecimal() and int(step) < len(node.value):
            found = node.value[int(step)]
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                found = value
    return found


class _Builder:
    """A builder of the values of one text, document by document."""

    def __init__(self, text: str) -> None:
        self._parser = _Loader(text)
        self._next = self._parser.get_event
        self._limit = len(text) * _MAX_VALUES_PER_CHARACTER + _MAX_VALUES_ANYWAY
        self._anchors: dict[str, Any] = {}
        self._aliased = False
        self.lines: dict[int, int] = {}
        self.document = 0
        self._next()  # the start of the stream

    def read(self) -> Iterator[Any]:
        while isinstance(self._next(), yaml.DocumentStartEvent):
            self.document += 1
            self._anchors = {}
            self._aliased = False
            self.lines = {}
            value = self._value(self._next(), 1)
            if self._aliased:
                _check_size(value, self._limit)
            yield value
            self._next()  # the end of the document

    def close(self) -> None:
        self._parser.dispose()

    def _value(self, event: Any, depth: int) -> Any:
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        elif depth > MAX_DEPTH:
            raise ObjectError(f"must nest at most {MAX_DEPTH} levels deep", line=_line(event))
        elif not is_collection_tag(event.tag):
            raise ObjectError(f"not valid YAML: unknown tag {event.tag!r}", line=_line(event))
        elif isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(event, depth)
            if depth <= _LINES_DEPTH:
                self.lines[id(value)] = _line(event)
        else:
            value = []
            while not isinstance(item := self._next(), yaml.SequenceEndEvent):
                value.append(self._value(item, depth + 1))
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _alias(self, event: yaml.AliasEvent) -> Any:
        if event.anchor not in self._anchors:
            raise ObjectError(f"not valid YAML: unknown anchor {event.anchor!r}", line=_line(event))
        self._aliased = True
        return self._anchors[event.anchor]

    def _mapping(self, start: yaml.Event, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        merged: list[Any] = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                merged.append(self._value(self._next(), depth + 1))
                continue
            key = self._key(event, depth)
            if key in mapping:
                raise ObjectError(f"key {key!r} stands here twice", line=_line(event))
            mapping[key] = self._value(self._next(), depth + 1)
        for more in merged:
            for source in more if isinstance(more, list) else [more]:
                if not isinstance(source, dict):
                    raise ObjectError("not valid YAML: << must be a map", line=_line(start))
                for key, value in source.items():
                    mapping.setdefault(key, value)
        return mapping

    def _key(self, event: yaml.Event, depth: int) -> str:
        """Return a key as text, the only type of key in JSON."""
        key = self._value(event, depth + 1)
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, int | float):
            return str(key)
        raise ObjectError("a key must be text", line=_line(event))


def _scalar(event: yaml.ScalarEvent) -> Any:
    text = event.value
    if event.implicit[0]:
        return read_plain(text)
    if event.tag is None or event.implicit[1]:
        return text
    try:
        return read_tagged(text, event.tag)
    except ObjectError as error:
        raise error.at(line=_line(event)) from None


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def load_documents(text: str, file: str | None = None) -> Iterator[YamlDocument]:
    """Yield every document of a YAML text; empty ones are left out but counted."""
    builder: _Builder | None = None
    try:
        builder = _Builder(text)
        for value in builder.read():
            if value is not None:
                yield YamlDocument(value, builder.document, builder.lines, text)
    except ObjectError as error:
        number = builder.document if builder is not None else 1
        raise error.at(file=file, document=number) from None
    except (yaml.YAMLError, ValueError) as error:
        number = max(builder.document, 1) if builder is not None else 1
        raise _syntax_error(error, file, number) from None
    finally:
        if builder is not None:
            builder.close()


def _check_size(value: Any, limit: int) -> None:
    """Refuse a document that its aliases make too large."""
    count = 0
    pending = [value]
    while pending:
        found = pending.pop()
        count += 1
        if count > limit:
            raise ObjectError("the document's aliases make it too large")
        if isinstance(found, dict):
            pending.extend(found.values())
        elif isinstance(found, list):
            pending.extend(found)


def _syntax_error(error: Exception, file: str | None, number: int) -> ObjectError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    line = int(mark.line) + 1 if mark is not None else None
    return ObjectError(f"not valid YAML: {problem}", file=file, document=number, line=line)
