"""The documentation site in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.site import build_site, pages_with_pictures

#: Waits for the pictures of a page; returns the width of each, 0 if it cannot be loaded.
_WIDTHS = """pictures => Promise.all(pictures.map(
  (picture) => picture.decode().then(() => picture.naturalWidth, () => 0)
))"""


async def test_every_picture_is_loaded(browser: Any, tmp_path: Path) -> None:
    folder = build_site(tmp_path / "site")
    tab = await browser.new_page()
    widths: list[int] = []
    for page in pages_with_pictures():
        await tab.goto((folder / page).as_uri())
        widths += await tab.eval_on_selector_all("img", _WIDTHS)
    assert len(widths) == sum(pages_with_pictures().values()) >= 7
    assert min(widths) > 0
