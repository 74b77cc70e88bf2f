"""The past in a browser: a slider over a journal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mooring.api.timestamps import parse_time
from tests.browser.visits import serious_findings, texts, visit
from tests.support.journals import record_two_pods
from tests.support.pages import serving_past

SLIDE = """(slider, time) => {
  slider.value = time;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
}"""

PENDING = "moment => fetch(`/api/pending?moment=${moment}`).then(answer => answer.json())"


async def test_the_slider_shows_other_moments(browser: Any, tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path, huge=True)
    async with serving_past(tmp_path) as page, visit(browser, page) as tab:
        assert await tab.get_by_role("link", name="What if").count() == 0
        placed = tab.get_by_text("Pods placed").locator("..")
        pending = tab.get_by_text("Pods pending").locator("..")
        await placed.get_by_text("2").wait_for()
        await pending.get_by_text("1").wait_for()
        assert await tab.get_by_text("a shadow").count() == 0
        slider = tab.get_by_label("Moment")
        await slider.evaluate(SLIDE, moments.between)
        await placed.get_by_text("1").wait_for()
        await pending.get_by_text("0").wait_for()
        await tab.get_by_role("link", name="Decisions").click()
        heading, *rows = await texts(tab, "#decisions")
        assert [row[2] for row in rows] == ["default/one"]
        assert (heading[3:], rows[0][4]) == (
            ["Node", "Told by", "What its scheduler says"],
            "journal",
        )
        await slider.evaluate(SLIDE, moments.after)
        row = tab.get_by_role("row").filter(has_text="two")
        await row.get_by_text("0/2 nodes are available").wait_for()
        await tab.get_by_role("link", name="Queue").click()
        age = tab.get_by_role("row").filter(has_text="two").get_by_role("cell").nth(2)
        listed = await tab.evaluate(PENDING, moments.after)
        seconds = moments.after - parse_time(listed["pods"][0]["created"])
        assert await age.inner_text() == f"{seconds // 86400:.0f} d"
        await tab.get_by_role("link", name="default/two").click()
        await tab.get_by_role("heading", name="two").wait_for()
        await tab.get_by_text("It is pending; asked at ").wait_for()
        # The pod is not there yet at another moment, and the view says so.
        await slider.evaluate(SLIDE, moments.before)
        await tab.get_by_role("alert").get_by_text('there is no pod "two"').wait_for()
        # The keyboard moves it, too.
        await slider.focus()
        await tab.keyboard.press("End")
        await tab.get_by_text("It is pending; asked at ").wait_for()


async def test_each_tab_has_its_own_moment(browser: Any, tmp_path: Path) -> None:
    moments = await asyncio.to_thread(record_two_pods, tmp_path)
    async with serving_past(tmp_path) as page, visit(browser, page) as first:
        assert await first.locator(".connection").inner_text() == "recorded"
        await first.get_by_label("Moment").evaluate(SLIDE, moments.between)
        placed = "Pods placed"
        await first.get_by_text(placed).locator("..").get_by_text("1").wait_for()
        second = await first.context.new_page()
        await second.goto(f"{page.origin}/")
        await second.get_by_text(placed).locator("..").get_by_text("3").wait_for()
        # The first tab has not moved: what it asks now is about its own moment.
        await first.get_by_role("link", name="Decisions").click()
        assert [row[2] for row in (await texts(first, "#decisions"))[1:]] == ["default/one"]
        await second.get_by_label("Moment").evaluate(SLIDE, moments.before)
        await second.get_by_text(placed).locator("..").get_by_text("0").wait_for()
        # The address holds the moment, also after the page is read again and in another tab.
        await first.reload()
        await first.get_by_text(placed).locator("..").get_by_text("1").wait_for()
        assert f"?moment={moments.between:.0f}#" in first.url
        await second.goto(first.url)
        await second.reload()
        await second.get_by_text(placed).locator("..").get_by_text("1").wait_for()
        # A moment that the journal does not hold is refused, and the end is shown.
        await second.goto(f"{page.origin}/?moment=5")
        await second.get_by_text("The end of the journal is shown: the journal covers").wait_for()
        await second.get_by_text(placed).locator("..").get_by_text("3").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_past_can_be_read(browser: Any, scheme: str, tmp_path: Path) -> None:
    await asyncio.to_thread(record_two_pods, tmp_path)
    options = {"color_scheme": scheme, "bypass_csp": True}
    async with serving_past(tmp_path) as page, visit(browser, page, **options) as tab:
        assert await serious_findings(tab) == []
