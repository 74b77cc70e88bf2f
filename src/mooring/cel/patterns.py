"""Regular expressions from untrusted users, matched in linear time.

RE2 never backtracks, so matching takes time at most proportional to the length of the pattern times
that of the text. Go's regexp, which Kubernetes uses, has the same syntax; where their error
messages differ, Go's are used.
"""

from __future__ import annotations

import re
from functools import lru_cache

import re2  # type: ignore[import-untyped]

#: The memory limit of one pattern: its program and the state of matching.
_MAX_MEMORY = 8 * 1024 * 1024
#: The most characters of one pattern. The largest body that an API server reads is 3 MiB.
_MAX_LENGTH = 100_000
_CACHED = 32
#: The deepest nesting of groups that Go allows.
_MAX_DEPTH = 999
#: Quoted text, and escapes except `\C` (a single byte), which Go refuses and RE2 accepts.
_QUOTED = re.compile(r"\\Q(?s:.*?)(?:\\E|$)|\\(?s:[^C])")
#: Lookbehind, for which Go's error message differs.
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
    """An invalid pattern, with Go's error message."""


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
            # The library caches patterns too; our own cache is enough.
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
        """Return the first part of a text that the pattern matches, or an empty string."""
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
    """Return the deepest nesting of parentheses, counting those in square brackets too."""
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
