"""The journal of a shadow in a browser: whose node is shown, and how the two compare."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mooring.journal.entries import Compared
from tests.browser.test_past import SLIDE
from tests.browser.visits import serious_findings, texts, visit
from tests.journal.journals import read
from tests.shadow.test_shadow_journal import PLACEMENTS, VERDICTS, record
from tests.support.pages import serving_past

NOTE = (
    "This is the journal of a shadow, which only reads. Pods are where the cluster's own scheduler "
    "has put them; explanations follow the rules of the recorded configuration."
)


def expected(compared: Compared) -> list[str]:
    """Return what a row of the table says of a comparison: nodes, and the verdict."""
    return [compared.theirs, compared.ours, compared.verdict]


async def test_the_decisions_show_both_nodes_and_how_they_compare(
    browser: Any, tmp_path: Path
) -> None:
    folder = await asyncio.to_thread(record, tmp_path)
    comparisons = read(folder, Compared)
    async with serving_past(tmp_path) as page, visit(browser, page) as tab:
        await tab.get_by_text(NOTE).wait_for()
        placed = tab.get_by_text("Pods placed").locator("..")
        await placed.get_by_text(str(len(PLACEMENTS)), exact=True).wait_for()
        await tab.get_by_role("link", name="Decisions").click()
        await tab.get_by_role("columnheader", name="Node of the shadow").wait_for()
        heading, *rows = await texts(tab, "#decisions")
        assert heading == [
            "Time",
            "Outcome",
            "Pod",
            "Node in the cluster",
            "Node of the shadow",
            "Told by",
            "How they compare",
        ]
        # The newest comes first; the verdict is followed by its reason.
        found = [[*row[3:5], row[6].split("\n")[0]] for row in reversed(rows)]
        assert found == [expected(one) for one in comparisons]
        assert {row[5] for row in rows} == {"shadow"}
        last = {row[2].removeprefix("default/"): row for row in reversed(rows)}
        assert set(last) == set(VERDICTS)
        lost = next(one for one in comparisons if one.verdict == "other node")
        text = f"the shadow's node has {lost.lost} points more; NodeResourcesFit"
        assert last["lost"][6] == f"other node\n{text}"
        assert last["lost"][1] == "bound"
        refused = "the shadow refuses the cluster's node; NodeResourcesFit: Insufficient cpu"
        assert last["refused"][6] == f"refused by us\n{refused}"
        assert last["too-big"][6].startswith(
            "pending here\nthe shadow finds no node; NodeResourcesFit: "
        )
        waited = next(row for row in rows if "pending there" in row[6])
        assert waited[1:5] == ["unschedulable", "default/waits", "", "big"]
        assert waited[6].startswith("pending there\nthe shadow finds a node")


async def test_the_slider_moves_through_the_comparisons(browser: Any, tmp_path: Path) -> None:
    folder = await asyncio.to_thread(record, tmp_path)
    comparisons = read(folder, Compared)
    async with serving_past(tmp_path) as page, visit(browser, page) as tab:
        await tab.get_by_role("link", name="Decisions").click()
        slider = tab.get_by_label("Moment")
        await slider.evaluate(SLIDE, int(comparisons[1].time) + 1)
        await tab.locator("#decisions tbody tr").nth(2).wait_for(state="detached")
        rows = (await texts(tab, "#decisions"))[1:]
        assert [row[2] for row in rows] == ["default/lost", "default/agreed"]
        # A pod is where the cluster's scheduler has put it; the explanation is that of the shadow.
        await tab.get_by_role("link", name="default/lost").click()
        await tab.get_by_text("It is on small; asked at ").wait_for()
        await tab.get_by_text("Chosen: big: ").wait_for()
        await tab.get_by_text(NOTE).wait_for()
        # Before the first comparison there is nothing to tell, and the page still says whose.
        await tab.get_by_role("link", name="Decisions").click()
        await slider.focus()
        await tab.keyboard.press("Home")
        await tab.get_by_text("The journal holds no decision of this time.").wait_for()
        await tab.get_by_text(NOTE).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_comparisons_can_be_read(browser: Any, scheme: str, tmp_path: Path) -> None:
    await asyncio.to_thread(record, tmp_path)
    options = {"color_scheme": scheme, "bypass_csp": True}
    async with serving_past(tmp_path) as page, visit(browser, page, **options) as tab:
        await tab.get_by_role("link", name="Decisions").click()
        await tab.get_by_role("columnheader", name="How they compare").wait_for()
        assert await serious_findings(tab) == []
