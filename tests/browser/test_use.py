"""The use of the page by the keyboard alone, in both colour schemes, and by assistive programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.api_server import PODS
from tests.browser.test_nodes import NODES, asking
from tests.browser.visits import serious_findings, visit
from tests.local.clusters import manifests, running
from tests.support.pages import serving

PLACES = (
    "nodes",
    "queue",
    "decisions",
    "what-if",
    "what-if/weights",
    "node/red",
    "pod/default/web",
)
#: What has the focus: its tag and what it is called.
FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body) return "";
  return `${one.tagName} ${one.getAttribute("aria-label") || one.innerText || one.value}`;
}"""


async def test_the_keyboard_is_enough(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("web", "1", nodeName="red"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            press = tab.keyboard.press

            async def tab_to(name: str) -> None:
                """Press Tab until an element of this name has the focus."""
                for _ in range(40):
                    await press("Tab")
                    if name in await tab.evaluate(FOCUSED):
                        return
                raise AssertionError(f"Tab never reaches {name}")

            # The map: to a node, and into it.
            await tab_to("CANVAS")
            await press("ArrowRight")
            await press("Enter")
            await tab.get_by_text("Resources", exact=True).wait_for()
            # Its pods, and the explanation of one.
            name = await tab.locator("h1").inner_text()
            assert name in ("red", "green", "blue")
            await press("/")
            await tab.keyboard.type("default/we")
            await tab.get_by_role("option").wait_for()
            await press("ArrowDown")
            await press("Enter")
            await tab.get_by_role("heading", name="web", exact=True).wait_for()
            # Another view by its link.
            await tab_to("What if")
            await press("Enter")
            await tab.get_by_role("heading", name="What if").wait_for()
            await tab_to("cordon")
            await press("ArrowRight")
            assert await tab.get_by_label("Drain nodes").is_checked()
            await press("Tab")
            await tab.keyboard.type("red")
            await press("Enter")
            await tab.locator("#consequences").wait_for()
            # The focus can be seen.
            await press("Tab")
            outline = "() => getComputedStyle(document.activeElement).outlineStyle"
            assert await tab.evaluate(outline) == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_both_colour_schemes_can_be_read(browser: Any, scheme: str, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("web", "1"))
        await cluster.post(PODS, asking("huge", "900"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        options = {"color_scheme": scheme, "bypass_csp": True}
        async with serving(tmp_path) as page, visit(browser, page, **options) as tab:
            background = await tab.evaluate("() => getComputedStyle(document.body).backgroundColor")
            assert (background == "rgb(18, 23, 29)") is (scheme == "dark")
            for place in PLACES:
                await tab.goto(f"{page.origin}/#/{place}")
                await tab.locator("main h1").wait_for()
                assert await serious_findings(tab) == [], place
