"""Questions about changes, in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mooring.leader.scheduler_questions import SchedulerAddress
from tests.apiserver.api_server import PODS
from tests.browser.test_leader import WEIGHTS
from tests.browser.test_nodes import asking
from tests.browser.visits import texts, visit
from tests.local.clusters import manifests, running
from tests.support.pages import serving

TWO = """
apiVersion: v1
kind: Node
metadata: {name: big}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: small}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
"""


async def test_draining_shows_who_moves_and_who_no_longer_fits(
    browser: Any, tmp_path: Path
) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(TWO)) as cluster:
        for name, cpu in (("light", "1"), ("heavy", "3")):
            await cluster.post(PODS, asking(name, cpu, nodeName="big"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.goto(f"{page.origin}/#/node/big")
            await tab.get_by_role("link", name="drained").click()
            assert await tab.get_by_label("Nodes, separated").input_value() == "big"
            await tab.get_by_role("button", name="Show the consequences").click()
            await tab.locator("#consequences").wait_for()
            assert (await tab.locator("#consequences").inner_text()).startswith(
                "1 pod would move, 1 would no longer fit, 0 pending would get a node."
            )
            _, moved = await texts(tab, "#moved")
            assert moved[:3] == ["default/light", "big", "small"]
            rules = await tab.locator("#whose-rules").inner_text()
            assert rules == "By the rules of the default configuration."
            _, unplaced = await texts(tab, "#unplaced")
            assert unplaced[:2] == ["default/heavy", "big"]
            assert unplaced[2].startswith("0/2 nodes are available: ")
        assert (await cluster.get(f"{PODS}/light"))["spec"]["nodeName"] == "big"


async def test_more_nodes_make_room(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(TWO)) as cluster:
        await cluster.post(PODS, asking("there", "3", nodeName="big"))
        await cluster.post(PODS, asking("waits", "3"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.get_by_text("Pods pending").locator("..").get_by_text("1").wait_for()
            await tab.get_by_role("link", name="What if").click()
            await tab.get_by_label("Add nodes like one").check()
            await tab.get_by_label("Node to copy").fill("big")
            await tab.get_by_label("How many").fill("2")
            await tab.keyboard.press("Enter")
            await tab.locator("#placed").wait_for()
            _, placed = await texts(tab, "#placed")
            assert placed[0] == "default/waits"
            assert placed[1] not in ("big", "small")


async def test_other_weights_and_a_bad_question(browser: Any, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=0, objects=manifests(TWO)) as cluster,
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        await cluster.post(PODS, asking("web", "1"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        await tab.get_by_role("link", name="What if").click()
        await tab.get_by_label("Nodes, separated").fill("nope")
        await tab.keyboard.press("Enter")
        await tab.get_by_role("alert").get_by_text('there is no node "nope"').wait_for()
        await tab.get_by_label("Change weights").check()
        await tab.get_by_role("button", name="Show the consequences").click()
        await tab.get_by_role("alert").get_by_text("no weight differs").wait_for()
        await tab.get_by_label("NodeResourcesFit", exact=True).fill("0")
        await tab.get_by_role("button", name="Show the consequences").click()
        await tab.locator("#consequences").wait_for()


async def test_rules_that_differ_from_the_leaders_are_named(browser: Any, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(WEIGHTS)
    async with (
        running(tmp_path, nodes=0, objects=manifests(TWO)),
        serving(tmp_path, leader=SchedulerAddress(), config=config) as page,
        visit(browser, page) as tab,
    ):
        await tab.goto(f"{page.origin}/#/what-if/cordon/big")
        await tab.get_by_role("button", name="Show the consequences").click()
        rules = tab.locator("#whose-rules")
        await rules.get_by_text("By the rules of mine.yaml.").wait_for()
        await rules.get_by_text(
            "The leader decides by other rules than mine.yaml: "
            "the profile default-scheduler is another one."
        ).wait_for()
