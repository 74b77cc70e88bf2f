"""Count the lines of code of each room of the package.

Usage: python -m tools.code_lines [FOLDER]

FOLDER is the package to count (default: src/mooring). A line of code holds a token that is neither
a comment nor part of a docstring; blank lines do not count. Tables that a tool has written do not
count either: their docstring says "do not edit".
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "mooring"
_NO_CODE = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            statement = node.body[0]
            assert isinstance(statement, ast.Expr)
            yield statement


def count_lines(source: str) -> int:
    """Return how many lines of a module hold code; 0 for a table that a tool has written."""
    tree = ast.parse(source)
    if "do not edit" in (ast.get_docstring(tree) or ""):
        return 0
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for docstring in _docstrings(tree):
        lines -= set(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return len(lines)


def count_rooms(package: Path) -> Counter[str]:
    """Return the lines of code by room: the folders and modules directly below a package."""
    rooms: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        rooms[room] += count_lines(path.read_text())
    return rooms


def main(arguments: list[str]) -> int:
    """Print the count of each room and their sum; return the exit status."""
    parser = argparse.ArgumentParser(prog="code_lines", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("package", type=Path, nargs="?", default=PACKAGE)
    package = parser.parse_args(arguments).package
    rooms = count_rooms(package)
    if not rooms:
        print(f"{package} holds no Python module", file=sys.stderr)
        return 1
    for room in sorted(rooms):
        print(f"{room:<16}{rooms[room]:>7}")
    print(f"{'total':<16}{rooms.total():>7}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
