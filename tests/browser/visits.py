"""Visits of the page by a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from axe_playwright_python.async_playwright import Axe

from tests.support.pages import ServedPast
from tests.support.waiting import PATIENCE


@asynccontextmanager
async def visit(browser: Any, page: ServedPast, **options: Any) -> AsyncIterator[Any]:
    """Open the page by the printed address; fail if it has errors or asks another server."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_default_timeout(PATIENCE * 1000)
    asked: list[str] = []
    errors: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    tab = await context.new_page()
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda message: (
            errors.append(message.text)
            # A lost connection is an error of the network, which tests cause on purpose.
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    await tab.goto(page.url)
    await tab.locator(".connection.live, .connection.recorded").wait_for()
    try:
        yield tab
    finally:
        await context.close()
    assert errors == []
    assert asked
    assert [url for url in asked if not url.startswith((f"{page.origin}/", "data:"))] == []


async def texts(tab: Any, selector: str) -> list[list[str]]:
    """Return the texts of a table's cells, row by row."""
    rows: list[list[str]] = await tab.eval_on_selector_all(
        f"{selector} tr",
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))",
    )
    return rows


async def serious_findings(tab: Any) -> list[tuple[str, str]]:
    """Return what axe finds serious or critical: the rule, and an element that breaks it.

    The page must be visited with `bypass_csp`: the policy would refuse axe's script.
    """
    results = await Axe().run(tab)
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in results.response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
