"""The page of extension points says what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from mooring.framework.points import METHODS
from tools.extension_points import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extension-points.md"


def test_the_page_is_written_from_the_catalogue() -> None:
    assert PAGE.read_text() == page(), "python -m tools.extension_points > docs/extension-points.md"


def test_every_method_is_described() -> None:
    headings = [line for line in page().splitlines() if line.startswith("### ")]
    assert headings == [f"### `{method.signature}`" for _, method in METHODS.values()]
