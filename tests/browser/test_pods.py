"""Pods in a browser: the explanation, the queue, and texts that look like HTML."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mooring import Plugin, Status
from tests.apiserver.api_server import PODS, pod
from tests.browser.test_nodes import NODES, asking
from tests.browser.visits import texts, visit
from tests.local.clusters import manifests, plan, running
from tests.support.pages import explained_by_command, serving

MARKUP = "<img src=x onerror=\"document.title='hit'\"><b id=planted>bold</b>"


async def test_the_matrices_are_those_of_the_command(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("there", "1", nodeName="red"))
        await cluster.post(PODS, asking("web", "1"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        found = await asyncio.to_thread(explained_by_command, "web", tmp_path)
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.goto(f"{page.origin}/#/pod/default/web")
            await tab.locator("#scores").wait_for()
            head, *rows = await texts(tab, "#scores")
            weights = [one["weight"] for one in found["scorePlugins"]]
            assert head == ["Node", "Total"] + [
                one["name"] + ("" if weight == 1 else f" \N{MULTIPLICATION SIGN} {weight}")
                for one, weight in zip(found["scorePlugins"], weights, strict=True)
            ]
            assert len(rows) == sum(found["feasible"])
            for row in rows:
                at = found["nodes"].index(row[0].split()[0])
                assert row[1] == str(found["totals"][at])
                for shown, plugin in zip(row[2:], found["scorePlugins"], strict=True):
                    raw, normalised = plugin["raw"][at], plugin["normalized"][at]
                    assert shown == (str(raw) if raw == normalised else f"{raw} → {normalised}")
            head, *rows = await texts(tab, "#filters")
            plugins = {one["name"]: one["verdicts"] for one in found["filterPlugins"]}
            assert sorted(row[0] for row in rows) == sorted(found["nodes"])
            for row in rows:
                at = found["nodes"].index(row[0])
                for shown, name in zip(row[1:], head[1:], strict=True):
                    code = plugins[name][at]
                    reasons = None if code is None else found["statuses"][code]["reasons"]
                    assert shown == ("passes" if reasons is None else ", ".join(reasons))


async def test_a_pending_pod_and_what_is_nearest(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("huge", "6"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.get_by_role("link", name="Queue").click()
            row = tab.get_by_role("row").filter(has_text="huge")
            await row.get_by_text("0/3 nodes are available").wait_for()
            await row.get_by_role("link").click()
            await tab.get_by_role("heading", name="huge").wait_for()
            causes = [row[:3] for row in await texts(tab, "#why-not")]
            assert causes[1] == ["2", "NodeResourcesFit", "Insufficient cpu"]
            await tab.get_by_text("cpu 2 short (asks 6, 4 free)").wait_for()
            await tab.get_by_text("2 nodes if it asked for 2 of cpu less").wait_for()


class Rude(Plugin):
    """A plugin whose reasons look like HTML."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        """Refuse."""
        return Status.unschedulable(MARKUP)


async def test_texts_of_the_cluster_never_become_html(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, plan=plan(plugins=[Rude])) as cluster:
        await cluster.post(PODS, pod("web"))
        async with serving(tmp_path, plugins=[Rude]) as page, visit(browser, page) as tab:
            await tab.get_by_role("link", name="Queue").click()
            await tab.get_by_role("row").filter(has_text=MARKUP).wait_for()
            await tab.get_by_role("link", name="default/web").click()
            await tab.locator("#why-not").get_by_text(MARKUP).wait_for()
            await tab.locator("#filters").get_by_text(MARKUP).wait_for()
            assert await tab.locator("#planted").count() == 0
            assert await tab.locator("main img").count() == 0
            assert await tab.title() == "Mooring"


async def test_the_browser_refuses_to_make_html_of_a_string(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        tab = await browser.new_page()
        await tab.goto(page.url)
        refused = "() => { try { document.body.innerHTML = '<i></i>' } catch { return 'refused' } }"
        assert await tab.evaluate(refused) == "refused"
        await tab.close()


async def test_a_pod_that_is_gone(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page, visit(browser, page) as tab:
        await tab.goto(f"{page.origin}/#/pod/default/nope")
        await tab.get_by_role("alert").get_by_text('there is no pod "nope"').wait_for()
