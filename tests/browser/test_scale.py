"""The page with many nodes and decisions: what it transfers and what it draws is bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.apiserver.api_server import PODS, pod
from tests.browser.visits import texts, visit
from tests.local.clusters import running
from tests.support.pages import serving

NODES = 5000
#: Bytes of the first transfer, as they are sent.
MOST_TRANSFER = 300_000
MOST_ELEMENTS = 1000
ELEMENTS = "() => document.querySelectorAll('*').length"
#: The bytes that the browser was sent so far.
TRANSFERRED = (
    """() => performance.getEntries().reduce((sum, one) => sum + (one.transferSize || 0), 0)"""
)


async def test_five_thousand_nodes(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=NODES, plan=None) as cluster:
        await cluster.post(PODS, pod("web", nodeName="node-4999"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.locator("canvas").wait_for()
            assert 0 < await tab.evaluate(TRANSFERRED) < MOST_TRANSFER
            assert await tab.evaluate(ELEMENTS) < MOST_ELEMENTS
            await tab.locator("canvas").focus()
            await tab.keyboard.press("End")
            said = await tab.locator(".said").inner_text()
            assert said.startswith("node-4999: ")
            await tab.get_by_role("radio", name="Table").check()
            rows = await texts(tab, "main table")
            assert (rows[1][0], rows[-1][0]) == ("node-0", "node-49")
            assert await tab.evaluate(ELEMENTS) < MOST_ELEMENTS
            await tab.get_by_role("button", name="Next").click()
            assert (await texts(tab, "main table"))[1][0] == "node-50"
            await tab.goto(f"{page.origin}/#/pod/default/web")
            await tab.locator("#scores").wait_for()
            assert await tab.evaluate(ELEMENTS) < MOST_ELEMENTS


async def test_many_decisions(browser: Any, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=1) as cluster,
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        for i in range(120):
            page.data.decisions.add(0.0, "default", f"pod-{i}", "bound", "other", "node-0")
        await tab.get_by_role("link", name="Decisions").click()
        await tab.get_by_role("link", name="default/pod-119").wait_for()
        assert len(await texts(tab, "#decisions")) == 31
        # While it is held, nothing moves below the reader's eyes.
        await tab.get_by_role("button", name="Pause").click()
        await cluster.post(PODS, pod("web"))
        await tab.get_by_text("Pods placed").locator("..").get_by_text("1").wait_for()
        assert (await texts(tab, "#decisions"))[1][2] == "default/pod-119"
        await tab.get_by_role("button", name="Next").click()
        assert (await texts(tab, "#decisions"))[1][2] == "default/pod-89"
        await tab.get_by_role("button", name="Previous").click()
        await tab.get_by_role("button", name="Continue").click()
        await tab.get_by_role("link", name="default/web").wait_for()
        await tab.get_by_label("Filter").fill("pod-7")
        rows = (await texts(tab, "#decisions"))[1:]
        assert len(rows) == 11
