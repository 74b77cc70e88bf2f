"""Read CEL into a tree."""

# cel-spec: doc/langdef.md

from __future__ import annotations

import re
from typing import Any

import msgspec

from mooring.plugins.dynamic_resources.cel.values import CompileError


class Literal(msgspec.Struct, frozen=True):
    """Stand for itself."""

    value: Any


class Ident(msgspec.Struct, frozen=True):
    """Name a variable."""

    name: str


class Select(msgspec.Struct, frozen=True):
    """Take a field; where `optional`, it may be missing."""

    operand: Node
    field: str
    optional: bool = False


class Index(msgspec.Struct, frozen=True):
    """Take an element; where `optional`, it may be missing."""

    operand: Node
    key: Node
    optional: bool = False


class Call(msgspec.Struct, frozen=True):
    """Call a function, or a method where there is a target."""

    name: str
    args: tuple[Node, ...]
    target: Node | None = None


class Operation(msgspec.Struct, frozen=True):
    """Apply an operator: "!", "-", "?:", or one that stands between two operands."""

    operator: str
    operands: tuple[Node, ...]


class ListOf(msgspec.Struct, frozen=True):
    """Make a list."""

    elements: tuple[Node, ...]


class MapOf(msgspec.Struct, frozen=True):
    """Make a map."""

    entries: tuple[tuple[Node, Node], ...]


Node = Literal | Ident | Select | Index | Call | Operation | ListOf | MapOf

_TOKEN = re.compile(
    r"""(?:
    (?P<string>[rR]?(?:\"\"\"(?s:.*?)(?<!\\)\"\"\"|'''(?s:.*?)(?<!\\)'''
        |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>&&|\|\||==|!=|<=|>=|\.\?|\[\?|[-+*/%!<>?:.,()\[\]{}])
    )""",
    re.VERBOSE | re.ASCII,
)
_BLANK = re.compile(r"(?:\s|//[^\n]*)*")
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))",
    re.DOTALL,
)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BINARY = (
    ("||",),
    ("&&",),
    ("==", "!=", "<", "<=", ">", ">=", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_WORDS = {"true": True, "false": False, "null": None}
#: Deeper than anyone writes; a limit on Python's stack.
_MAX_DEPTH = 100


def parse(expression: str) -> Node:
    """Parse an expression, or raise CompileError."""
    return _Parser(expression).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._expression()
        kind, value, place = self._peek()
        if kind != "end":
            raise _syntax(self._text, place, f"unexpected {value!r}")
        return node

    def _peek(self) -> tuple[str, str, int]:
        return self._tokens[self._next]

    def _take(self, *marks: str) -> str:
        """Take the next token where it is one of these; else return ""."""
        kind, value, _ = self._tokens[self._next]
        if kind in ("mark", "name") and value in marks:
            self._next += 1
            return value
        return ""

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            _, value, place = self._peek()
            raise _syntax(self._text, place, f"expected {mark!r}, found {value!r}")

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CompileError("expression is nested too deeply")
        node = self._binary(0)
        if self._take("?"):
            yes = self._binary(0)
            self._expect(":")
            node = Operation("?:", (node, yes, self._expression()))
        self._depth -= 1
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self._unary()
        node = self._binary(level + 1)
        while operator := self._take(*_BINARY[level]):
            node = Operation(operator, (node, self._binary(level + 1)))
        return node

    def _unary(self) -> Node:
        if self._take("!"):
            return Operation("!", (self._unary(),))
        if self._take("-"):
            operand = self._unary()
            if isinstance(operand, Literal) and type(operand.value) in (int, float):
                return Literal(-operand.value)
            return Operation("-", (operand,))
        return self._member(self._primary())

    def _member(self, node: Node) -> Node:
        while mark := self._take(".", ".?", "[", "[?"):
            if mark in ("[", "[?"):
                node = Index(node, self._expression(), mark == "[?")
                self._expect("]")
                continue
            name = self._name()
            if mark == "." and self._take("("):
                node = Call(name, self._until(")"), node)
            else:
                node = Select(node, name, mark == ".?")
        return node

    def _primary(self) -> Node:
        kind, value, place = self._peek()
        self._next += 1
        if kind == "string":
            return Literal(_unquote(self._text, place, value))
        if kind == "double":
            return Literal(float(value))
        if kind == "int":
            if value[-1] in "uU":
                raise _syntax(self._text, place, "unsigned numbers are not supported")
            return Literal(int(value, 0 if value.startswith("0x") else 10))
        if kind == "name":
            if value in _WORDS:
                return Literal(_WORDS[value])
            return Call(value, self._until(")")) if self._take("(") else Ident(value)
        if value == "(":
            node = self._expression()
            self._expect(")")
            return node
        if value == "[":
            return ListOf(self._until("]"))
        if value == "{":
            return self._map()
        raise _syntax(self._text, place, f"unexpected {value!r}")

    def _name(self) -> str:
        kind, value, place = self._peek()
        if kind != "name":
            raise _syntax(self._text, place, f"expected a name, found {value!r}")
        self._next += 1
        return value

    def _until(self, end: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while not self._take(end):
            if found:
                self._expect(",")
                if self._take(end):
                    break
            found.append(self._expression())
        return tuple(found)

    def _map(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._take("}"):
            if entries:
                self._expect(",")
                if self._take("}"):
                    break
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression()))
        return MapOf(tuple(entries))


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    place = 0
    while True:
        blank = _BLANK.match(text, place)
        place = place if blank is None else blank.end()
        if place == len(text):
            return [*found, ("end", "<EOF>", place)]
        match = _TOKEN.match(text, place)
        if match is None:
            raise _syntax(text, place, f"unexpected {text[place]!r}")
        kind = match.lastgroup
        assert kind is not None
        found.append((kind, match[kind], place))
        place = match.end()


def _unquote(text: str, place: int, quoted: str) -> str:
    raw = quoted[0] in "rR"
    body = quoted[1:] if raw else quoted
    width = 3 if body[:3] in ('"""', "'''") else 1
    body = body[width:-width]
    if raw:
        return body

    def unescape(match: re.Match[str]) -> str:
        plain, two, four, eight, octal, other = match.groups()
        if plain:
            return _ESCAPED.get(plain, plain)
        if other:
            raise _syntax(text, place, f"unknown escape \\{other}")
        return chr(int(octal, 8) if octal else int(two or four or eight, 16))

    return _ESCAPE.sub(unescape, body)


def _syntax(text: str, place: int, what: str) -> CompileError:
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    return CompileError(f"ERROR: <input>:{line}:{column}: Syntax error: {what}")
