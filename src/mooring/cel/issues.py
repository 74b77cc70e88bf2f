"""The errors of an expression, and their positions."""

# cel-go: common/error.go, common/errors.go

from __future__ import annotations

import re

import msgspec

_MAX_REPORTED = 100
_WIDE_DOT, _WIDE_CARET = "\uff0e", "\uff3e"
#: Longer lines are not shown.
_MAX_LINE = 16_384
_LINE_END = re.compile(r"\n")


class Issue(msgspec.Struct, frozen=True):
    """An error at a position in the source; -1 if it concerns the whole source."""

    place: int
    message: str


def describe(source: str, issues: list[Issue]) -> str:
    """Return issues as text, in the order of their positions, each with its source line."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(source))]
    ordered = sorted(issues[:_MAX_REPORTED], key=lambda issue: issue.place)
    texts = [_describe(source, starts, issue) for issue in ordered]
    if len(issues) > _MAX_REPORTED:
        texts.append(f"{len(issues) - _MAX_REPORTED} more errors were truncated")
    return "\n".join(texts)


def _describe(source: str, starts: list[int], issue: Issue) -> str:
    if issue.place < 0:
        return f"ERROR: <input>:-1:0: {issue.message}"
    line = sum(1 for start in starts if start <= issue.place)
    start = starts[line - 1]
    column = issue.place - start
    end = starts[line] - 1 if line < len(starts) else len(source)
    snippet = source[start:end].replace("\t", " ")
    head = f"ERROR: <input>:{line}:{column + 1}: {issue.message}"
    if len(snippet.encode(errors="surrogatepass")) > _MAX_LINE:
        return head
    # Non-ASCII characters are marked with the wide forms of the dot and of the caret.
    dots = "".join(_WIDE_DOT if character > "\x7f" else "." for character in snippet[:column])
    mark = _WIDE_CARET if snippet[column : column + 1] > "\x7f" else "^"
    return f"ERROR: <input>:{line}:{column + 1}: {issue.message}\n | {snippet}\n | {dots}{mark}"
