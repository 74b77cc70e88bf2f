"""Regular expressions from untrusted users, matched in linear time.

RE2 never backtracks, so matching takes time at most proportional to the length of the pattern times
that of the text. Go's regexp, which Kubernetes uses, has the same syntax; where their error
messages differ, Go's are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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

#: A program with at most this many instructions compiles in no time.
_SMALL = 100
#: The work of compiling a larger program, for each instruction.
_COMPILING = 4
#: The work of compiling a pattern until its program is too large.
_TOO_LARGE = 2_000_000
#: The work of refusing any other pattern, and for each of its characters.
_REFUSING, _REFUSING_CHARACTER = 200, 4
#: The work of returning one match.
_MATCH = 40
#: The most work of compiling the constant patterns of one expression.
_MAX_TOGETHER = 2_000_000
TOO_LARGE_TOGETHER = "the regular expressions are too large together"
#: How many steps (an instruction at a character) are one unit of work. As long as RE2's automaton
#: fits into its memory, most steps are skipped; larger ones are simulated step by step.
_STEPS, _SIMULATED_STEPS = 10, 2
#: From this many steps on, the automaton may not fit.
_MANY_STEPS = 1_000_000
#: How many characters are searched for one more match in one unit of work.
_SEARCHED = 16

#: Called with an amount of work before it is done; raises an exception to prevent it.
Labour = Callable[[int], object]


def _free(amount: int) -> None:
    """Count nothing."""


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


_IS_TOO_LARGE = "error parsing regexp: expression too large"


class PatternError(Exception):
    """An invalid pattern, with Go's error message."""

    def __init__(self, message: str, work: int = 0) -> None:
        super().__init__(message)
        #: What compiling the pattern took, as work.
        self.work = work


class Pattern:
    """A compiled pattern."""

    __slots__ = ("_compiled", "work")

    def __init__(self, text: str) -> None:
        if len(text) > _MAX_LENGTH:
            raise PatternError(f"error parsing regexp: expression too large: `{text[:40]}...`")
        refusing = _REFUSING + _REFUSING_CHARACTER * len(text)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MAX_MEMORY
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            why = _worded(text, error)
            raise PatternError(why, _TOO_LARGE if why == _IS_TOO_LARGE else refusing) from None
        finally:
            # The library caches patterns too; our own cache is enough.
            re2.purge()
        bare = _QUOTED.sub("", text)
        if "\\C" in bare:
            why = "error parsing regexp: invalid escape sequence: `\\C`"
            raise PatternError(why, self._compiling() + refusing)
        if _depth(bare) > _MAX_DEPTH:
            why = f"error parsing regexp: expression nests too deeply: `{text}`"
            raise PatternError(why, self._compiling() + refusing)
        #: What compiling the pattern took, as work.
        self.work = self._compiling()

    def _compiling(self) -> int:
        size = int(self._compiled.programsize)
        return size if size <= _SMALL else size * _COMPILING

    def _meet(self, text: str, labour: Labour) -> None:
        """Count the work of compiling the pattern and of searching a text once."""
        steps = self._compiled.programsize * (len(text) + 1)
        labour(self.work)
        labour(steps // (_SIMULATED_STEPS if steps > _MANY_STEPS else _STEPS))

    def matches(self, text: str, labour: Labour = _free) -> bool:
        """Return whether the pattern matches any part of a text."""
        self._meet(text, labour)
        return self._compiled.search(text) is not None

    def find(self, text: str, labour: Labour = _free) -> str:
        """Return the first part of a text that the pattern matches, or an empty string."""
        self._meet(text, labour)
        found = self._compiled.search(text)
        return "" if found is None else str(found.group())

    def find_all(self, text: str, limit: int = -1, labour: Labour = _free) -> list[str]:
        """Return the parts of a text that the pattern matches, at most `limit` of them."""
        self._meet(text, labour)
        found: list[str] = []
        for match in self._compiled.finditer(text):
            if len(found) == limit:
                break
            # The search for the next one may read the rest of the text.
            labour(_MATCH + (len(text) - match.end()) // _SEARCHED)
            found.append(str(match.group()))
        return found


class PatternChecks:
    """The constant patterns of one expression, each compiled once, and together up to a limit."""

    __slots__ = ("_valid", "work")

    def __init__(self) -> None:
        #: What compiling them took, as work.
        self.work = 0
        self._valid: set[str] = set()

    @property
    def is_exhausted(self) -> bool:
        """Return whether they are too large together, so that no other one is compiled."""
        return self.work > _MAX_TOGETHER

    def check(self, text: str) -> None:
        """Compile a pattern; raise PatternError if it is invalid or all are too large together."""
        if text in self._valid:
            return
        if self.is_exhausted:
            raise PatternError(TOO_LARGE_TOGETHER)
        try:
            self.work += compile(text).work
        except PatternError as error:
            self.work += error.work
            raise
        self._valid.add(text)


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
        return _IS_TOO_LARGE
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


def compile(text: str) -> Pattern:
    """Compile a pattern, or raise PatternError."""
    compiled = _compiled(text)
    if isinstance(compiled, PatternError):
        raise PatternError(str(compiled), compiled.work)
    return compiled


@lru_cache(maxsize=_CACHED)
def _compiled(text: str) -> Pattern | PatternError:
    try:
        return Pattern(text)
    except PatternError as error:
        # Without its traceback, which would keep the frames alive.
        return error.with_traceback(None)
