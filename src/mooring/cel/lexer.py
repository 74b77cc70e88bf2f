"""The tokens of CEL."""

# cel-go: parser/gen/CEL.g4, parser/unescape.go

from __future__ import annotations

import re

import msgspec

from mooring.cel.issues import Issue

_TOKEN = re.compile(
    r"""(?:
    (?P<string>[bB]?(?:[rR](?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|"[^"\n\r]*"|'[^'\n\r]*')
        |\"\"\"(?:[^\\]|\\(?s:.))*?\"\"\"|'''(?:[^\\]|\\(?s:.))*?'''
        |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'))
    |(?P<double>[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|[0-9]+[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<escaped>`[A-Za-z0-9_./\- ]+`)
    |(?P<mark>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    )""",
    re.VERBOSE | re.ASCII,
)
_BLANK = re.compile(r"(?:[\t \r\n\f]|//[^\n]*)*")
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|((?s:.)))"
)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Token(msgspec.Struct, frozen=True):
    """A token: its kind, its text, and where it begins."""

    kind: str
    text: str
    place: int


class SyntaxFault(Exception):
    """A syntax error in an expression."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.issue = Issue(place, message)


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of a source; the last one marks its end."""
    found: list[Token] = []
    place = 0
    while True:
        blank = _BLANK.match(source, place)
        place = place if blank is None else blank.end()
        if place == len(source):
            return [*found, Token("end", "<EOF>", place)]
        match = _TOKEN.match(source, place)
        if match is None or match.lastgroup is None:
            what = source[place:] if source[place] in "\"'" else source[place]
            raise SyntaxFault(place, f"Syntax error: token recognition error at: '{what}'")
        found.append(Token(match.lastgroup, match[match.lastgroup], place))
        place = match.end()


def unquote(token: Token) -> str:
    """Return the string that a string literal denotes."""
    quoted = token.text
    raw = quoted[0] in "rR"
    body = quoted[1:] if raw else quoted
    width = 3 if body[:3] in ('"""', "'''") else 1
    body = body[width:-width].replace("\r\n", "\n").replace("\r", "\n")
    if raw:
        return body

    def unescape(match: re.Match[str]) -> str:
        plain, two, four, eight, octal, other = match.groups()
        if plain:
            return _ESCAPED.get(plain, plain)
        code = 0x110000 if other else int(octal, 8) if octal else int(two or four or eight, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise SyntaxFault(token.place, f"Syntax error: token recognition error at: '{quoted}'")
        return chr(code)

    return _ESCAPE.sub(unescape, body)
