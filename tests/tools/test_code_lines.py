"""Tests of tools/code_lines.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.code_lines import count_lines, main

MODULE = '''"""A module.

With a long docstring.
"""

# A comment.
TEXT = """
counts, blank lines too

"""


class Thing:
    """A thing."""

    size = 1  # Counts.

    def grow(self) -> int:
        """Return the size."""
        return (
            self.size
            # A comment inside an expression.
            + 1
        )
'''


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    assert count_lines(MODULE) == 4 + 1 + 1 + 1 + 4


def test_tables_written_by_a_tool_do_not_count() -> None:
    assert (
        count_lines('"""A table.\n\nWritten by tools/x.py; do not edit.\n"""\nROWS = (1, 2)\n') == 0
    )


def test_rooms_are_printed_with_their_sum(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "queue" / "inner").mkdir(parents=True)
    (tmp_path / "queue" / "inner" / "heap.py").write_text("A = 1\nB = 2\n")
    (tmp_path / "errors.py").write_text("C = 3\n")
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == ["errors", "1", "queue", "2", "total", "3"]


def test_a_folder_without_modules_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    assert "holds no Python module" in capsys.readouterr().err
