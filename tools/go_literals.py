"""Read constants and literals of Go source as Python values, for the tables of defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_TOKEN = re.compile(r'\s*(<<|"[^"]*"|\d+\.\d+|\d+|\w+|[\[\]{}(),.:&+*])')
#: Names of other packages that occur in defaults, without their package.
_KNOWN = {
    "ResourceCPU": "cpu",
    "ResourceMemory": "memory",
    "NamespaceDefault": "default",
    "true": True,
    "false": False,
    "nil": None,
}
#: `name Type = expression` in a block of variables or constants; the type may be absent.
_ASSIGNED = re.compile(r"^(?:var |const |\t)(\w+)(?:[ \t]+[\w.*]+)?[ \t]*=[ \t]*", re.MULTILINE)


class Unreadable(ValueError):
    """An expression that is not a literal of constants."""


def assigned(text: str) -> dict[str, str]:
    """Return the package-level variables and constants of Go source, name -> text from its value.

    >>> names = assigned('var (\\n\\tseconds int64 = 60\\n\\tmode = Least\\n)\\n')
    >>> evaluate("seconds", names)
    60
    """
    blocks = re.findall(r"^(?:var|const) \(\n.*?^\)|^(?:var|const) .*$", text, re.M | re.S)
    return {
        found.group(1): block[found.end() :]
        for block in blocks
        for found in _ASSIGNED.finditer(block)
    }


def evaluate(text: str, names: Mapping[str, str]) -> Any:
    """Return the value of the expression at the start of a text; `names` has what it may name.

    >>> evaluate('[]Spec{{Name: "cpu", Weight: 1 << size}}', {"size": "20"})
    [{'name': 'cpu', 'weight': 1048576}]
    """
    return _Reader(_TOKEN.findall(text), names).expression()


class _Reader:
    """The tokens of an expression that are still to be read."""

    def __init__(self, tokens: list[str], names: Mapping[str, str]) -> None:
        self.tokens = tokens
        self._names = names

    def expression(self) -> Any:
        value = self._operand()
        while self._peek() in ("<<", "+"):
            if self._take() == "<<":
                value <<= self._operand()
            else:
                value += self._operand()
        return value

    def _operand(self) -> Any:
        token = self._take()
        if token == "&":
            return self._operand()
        if token == "{":
            return self._elements()
        if token == "[":
            self._expect("]")
            self._name(self._take())
            self._expect("{")
            return self._elements() or []
        if token == "map":
            while self._peek() != "{":
                self._take()
            self._take()
            return self._elements(constants=True)
        if token.startswith('"'):
            return token[1:-1]
        if re.fullmatch(r"\d+", token):
            return int(token)
        if re.fullmatch(r"\d+\.\d+", token):
            return float(token)
        return self._named(self._name(token))

    def _named(self, name: str) -> Any:
        """Return the value of a name: a call, a struct's literal or a constant."""
        if self._peek() == "(":
            self._take()
            arguments = self._until(")")
            return str(arguments[0]) if name == "FormatInt" else arguments[0]
        if self._peek() == "{":
            self._take()
            return self._elements()
        if name in self._names:
            return evaluate(self._names[name], self._names)
        if name in _KNOWN:
            return _KNOWN[name]
        raise Unreadable(name)

    def _name(self, token: str) -> str:
        """Return the last part of a name with a package."""
        while self._peek() == ".":
            self._take()
            token = self._take()
        return token

    def _elements(self, constants: bool = False) -> Any:
        """Read up to the closing brace: a list, or a mapping if the elements have keys."""
        items: list[Any] = []
        pairs: dict[str, Any] = {}
        while self._peek() != "}":
            if not constants and len(self.tokens) > 1 and self.tokens[1] == ":":
                key = self._take()
                self._take()
                pairs[key[0].lower() + key[1:]] = self.expression()
            else:
                value = self.expression()
                if self._peek() == ":":
                    self._take()
                    pairs[value] = self.expression()
                else:
                    items.append(value)
            if self._peek() == ",":
                self._take()
        self._take()
        return items or pairs

    def _until(self, end: str) -> list[Any]:
        found = [self.expression()]
        while self._peek() == ",":
            self._take()
            found.append(self.expression())
        self._expect(end)
        return found

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _take(self) -> str:
        if not self.tokens:
            raise Unreadable("the expression ends early")
        return self.tokens.pop(0)

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise Unreadable(token)
