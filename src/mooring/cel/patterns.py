"""Regular expressions that others wrote, matched in linear time.

RE2 never backtracks, so no pattern can take longer than its length times that of the text. Go's
regexp, which Kubernetes uses, has the same syntax; where the two word an error differently, Go's
words are used.
"""

from __future__ import annotations

import re
from functools import lru_cache

import re2  # type: ignore[import-untyped]

#: Memory for one pattern: the program and what matching remembers.
_MAX_MEMORY = 8 * 1024 * 1024
#: Characters of one pattern. The largest body that an API server reads is 3 MiB.
_MAX_LENGTH = 100_000
_CACHED = 32
#: Groups inside one another that Go allows.
_MAX_DEPTH = 999
#: What Go refuses and RE2 does not: a single byte of a text, and looking behind by another name.
_QUOTED = re.compile(r"\\Q(?s:.*?)(?:\\E|$)|\\(?s:[^C])")
_LOOK_BEHIND = re.compile(r"\(\?<[=!]")

_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "pattern too large - compile failed": "expression too large",
    "bad named capture group": "invalid named capture",
    "invalid named capture group": "invalid named capture",
}


class PatternError(Exception):
    """A pattern that is none, in Go's words."""


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled",)

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_LENGTH:
            raise PatternError(f"error parsing regexp: expression too large: `{text[:40]}...`")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            raise PatternError(_worded(text, error)) from None
        finally:
            # The library remembers patterns too; one memory of them is enough.
            re2.purge()
        bare = _QUOTED.sub("", text)
        if "\\C" in bare:
            raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
        if _depth(bare) > _MAX_DEPTH:
            raise PatternError(f"error parsing regexp: expression nests too deeply: `{text}`")

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches any part of a text."""
        return self._compiled.search(text) is not None

    def find(self, text: str) -> str:
        """Return the first part of a text that the pattern matches, or an empty text."""
        found = self._compiled.search(text)
        return "" if found is None else str(found.group())

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Return the parts of a text that the pattern matches, at most `limit` of them."""
        found: list[str] = []
        for match in self._compiled.finditer(text):
            if len(found) == limit:
                break
            found.append(str(match.group()))
        return found


def _worded(text: str, error: Exception) -> str:
    said = error.args[0] if error.args else ""
    said = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    what, _, where = said.partition(": ")
    what = _WORDS.get(what, what)
    if what == "unexpected )" or what.startswith("missing closing"):
        where = text
    if what.startswith("trailing"):
        where = ""
    if what.startswith("expression too large"):
        return f"error parsing regexp: {what}"
    if (behind := _LOOK_BEHIND.search(text)) is not None and where == behind[0]:
        what, where = "invalid named capture", text[behind.start() :]
    return f"error parsing regexp: {what}: `{where}`"


def _depth(text: str) -> int:
    """Return how many parentheses are open at once, counting those in brackets too."""
    depth = deepest = 0
    for character in text:
        if character == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif character == ")":
            depth -= 1
    return deepest


@lru_cache(maxsize=_CACHED)
def compile(text: str) -> Pattern:
    """Compile a pattern, or raise PatternError."""
    return Pattern(text)
