"""Texts with markup, control characters and changes of direction, in every view and in the report.

Nothing becomes an element, no script runs, and no text changes how the text around it is read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mooring import Plugin, Status
from mooring.cli.main import main
from mooring.journal.frames import make_frame, read_frames
from mooring.journal.segments import list_segments
from tests.apiserver.api_server import PODS, pod
from tests.browser.visits import visit
from tests.local.clusters import plan, running
from tests.support.journals import record_two_pods
from tests.support.pages import serving, serving_past

#: Each would change the title or add an element if it became HTML, in some place of a document.
MARKUP = (
    "<img src=x onerror=\"document.title='hit'\"><svg onload=\"document.title='hit'\">"
    "</td></title></style></textarea><script>document.title='hit'</script><b id=planted>b</b>"
    "<iframe srcdoc=\"<script>parent.document.title='hit'</script>\"></iframe>"
    "<a href=\"javascript:document.title='hit'\">a</a>{{7*7}}${7*7}&lt;i&gt;\"'`"
)
#: An end of a line, an escape sequence of terminals, C1 controls, changes of direction.
CONTROLS = "\x1b]0;hit\x07\x9b2J\u202e\u2066\u200f\u061c"
HOSTILE = MARKUP + CONTROLS
#: What a page must not show as it is.
HIDDEN = [one for one in CONTROLS if not one.isprintable()]

FOUND = """() => ({
  title: document.title,
  planted: document.querySelectorAll(
    "#planted, iframe, object, embed, [onerror], [onload], [onclick], a[href^='javascript:']",
  ).length,
  scripts: [...document.scripts].filter((one) => !one.src).length,
  text: document.body.innerText + [...document.querySelectorAll("[title], [aria-label]")]
    .map((one) => one.title + one.ariaLabel).join(),
})"""


async def check(tab: Any, title: str) -> str:
    """Check what a document holds; return its text."""
    found = await tab.evaluate(FOUND)
    assert found["title"] == title
    assert (found["planted"], found["scripts"]) == (0, 0)
    text: str = found["text"]
    assert [one for one in HIDDEN if one in text] == []
    return text


@asynccontextmanager
async def watched(browser: Any, page: Any) -> AsyncIterator[Any]:
    """Visit a page, all of whose responses have a policy that refuses scripts of others."""
    async with visit(browser, page) as tab:
        policies: list[str] = []
        tab.on(
            "response",
            lambda response: policies.append(response.headers.get("content-security-policy", "")),
        )
        await tab.reload()
        await tab.locator(".connection.live, .connection.recorded").wait_for()
        yield tab
    assert policies
    for policy in policies:
        assert "default-src 'self'" in policy and "trusted-types 'none'" in policy
        assert "unsafe" not in policy


def replaced(value: Any, texts: dict[str, str]) -> Any:
    """Return a JSON value in which texts, also keys, are replaced."""
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, list):
        return [replaced(one, texts) for one in value]
    if isinstance(value, dict):
        return {replaced(key, texts): replaced(one, texts) for key, one in value.items()}
    return value


@pytest.fixture
def hostile_journal(tmp_path: Path) -> Path:
    """Return the folder of a journal whose names and messages are hostile."""
    # Its own event loop is in a thread of its own.
    with ThreadPoolExecutor() as thread:
        thread.submit(record_two_pods, tmp_path, huge=True).result()
    (segment,) = list_segments(tmp_path / "journal")
    with segment.path.open("rb") as file:
        lines = b"".join(read_frames(file, "")).splitlines()
    names = ("node-0", "default/two", "Insufficient cpu", "nodes are available")
    texts = {name: name + HOSTILE for name in names}
    pods = {'"two"': '"two' + json.dumps(HOSTILE)[1:]}
    made = [replaced(json.loads(replaced(line.decode(), pods)), texts) for line in lines]
    content = "".join(json.dumps(one) + "\n" for one in made)
    segment.path.write_bytes(make_frame(content.encode()))
    return tmp_path


async def test_a_hostile_journal_is_text(browser: Any, hostile_journal: Path) -> None:
    async with serving_past(hostile_journal) as page, watched(browser, page) as tab:
        shown = []
        for place, word in (("nodes", "node-0"), ("queue", "two"), ("decisions", "two")):
            await tab.goto(f"{page.origin}/#/{place}")
            if place == "nodes":
                # The map is a picture; the table has its texts.
                await tab.get_by_label("Table", exact=True).check()
            await tab.locator("main").get_by_text(word).first.wait_for()
            shown.append(await check(tab, "Mooring"))
        assert all("<img src=x" in text for text in shown)
        assert all(r"\x1b]0;hit\x07\x9b2J\u202e" in text for text in shown)
        await tab.get_by_role("link", name="two<img").first.click()
        await tab.get_by_role("heading", name="two<img").wait_for()
        await tab.locator("#why-not").wait_for()
        assert "<img src=x" in await check(tab, "Mooring")
        await tab.goto(f"{page.origin}/#/node/" + await tab.evaluate("encodeURIComponent", "x"))
        await check(tab, "Mooring")
        for path in (f"node/{MARKUP}", f"pod/{MARKUP}/{MARKUP}", MARKUP):
            await tab.evaluate("(path) => { location.hash = '#/' + path; }", path)
            await tab.locator("main").wait_for()
            await check(tab, "Mooring")


class Rude(Plugin):
    """A plugin whose reasons are hostile."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        """Refuse."""
        return Status.unschedulable(HOSTILE)


async def test_a_hostile_cluster_is_text(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, plan=plan(plugins=[Rude])) as cluster:
        made = pod("web")
        made["metadata"]["annotations"] = {"note": HOSTILE}
        await cluster.post(PODS, made)
        other = pod("other", schedulerName="other")
        created = await cluster.post(PODS, other)
        await cluster.post(
            "/api/v1/namespaces/default/events",
            {
                "metadata": {"name": "told"},
                "involvedObject": {
                    "kind": "Pod",
                    "name": "other",
                    "namespace": "default",
                    "uid": created["metadata"]["uid"],
                },
                "reason": "FailedScheduling",
                "message": HOSTILE,
                "type": "Warning",
                "source": {"component": HOSTILE},
            },
        )
        condition = {"type": "PodScheduled", "status": "False", "reason": HOSTILE}
        status = {"conditions": [{**condition, "message": HOSTILE}]}
        await cluster.client.request(
            "PATCH",
            f"{PODS}/other/status",
            json.dumps({"status": status}).encode(),
            "application/merge-patch+json",
        )
        async with serving(tmp_path, plugins=[Rude]) as page, watched(browser, page) as tab:
            await tab.goto(f"{page.origin}/#/queue")
            await tab.get_by_role("row").filter(has_text="<img src=x").first.wait_for()
            await check(tab, "Mooring")
            pods = ("pod/default/web", "pod/default/other")
            for view in ("nodes", "decisions", "what-if", *pods, "node/node-0"):
                await tab.goto(f"{page.origin}/#/{view}")
                await tab.locator("main").locator("h1, [role=alert]").first.wait_for()
                await check(tab, "Mooring")


@pytest.mark.parametrize("history", [[], ["--history", "own"]], ids=["recorded", "own"])
async def test_a_hostile_journal_is_text_in_the_report(
    browser: Any,
    hostile_journal: Path,
    capsys: pytest.CaptureFixture[str],
    history: Sequence[str],
) -> None:
    config = hostile_journal / "<b id=planted>other.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}}]\n"
    )
    folder = str(hostile_journal / "journal")
    command = ["replay", folder, *history, "-o", "html", "--config", str(config)]
    assert await asyncio.to_thread(main, command) in (0, 3)
    report = hostile_journal / "report.html"
    report.write_text(capsys.readouterr().out)
    # The policy of the report alone holds here.
    tab = await browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    await tab.goto(report.as_uri())
    title = await tab.title()
    text = await check(tab, title)
    # The other one has no names of the cluster.
    assert history or "<img src=x" in text
    assert title.startswith("Replay of a journal")
    assert "default-src 'none'" in report.read_text()
    assert errors == []
    await tab.close()
