"""Sessions in a browser: who is refused, and what happens when the server goes away."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from aiohttp import web

from mooring.ui.page_access import NO_COOKIE, WRONG_HOST, WRONG_ORIGIN, WRONG_TOKEN
from tests.apiserver.api_server import PODS, pod
from tests.browser.visits import visit
from tests.local.clusters import running
from tests.support.pages import serving

LOST = re.compile(r"lost since (\d\d:\d\d:\d\d)")
#: How a page makes the browser send requests with its cookies.
LINK = "url => { location.href = url }"
FORM = """url => {
  const form = document.createElement("form");
  [form.action, form.method] = [url, "post"];
  document.body.append(form);
  form.submit();
}"""


async def test_strangers_are_refused(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        context = await browser.new_context()
        tab = await context.new_page()
        for address, text in (
            (f"{page.origin}/", NO_COOKIE),
            (f"{page.origin}/?token=wrong", WRONG_TOKEN),
        ):
            answer = await tab.goto(address)
            assert (answer.status, await answer.text()) == (403, f"{text}\n")
        # A name of another site that resolves to loopback.
        answer = await context.request.get(page.url, headers={"Host": "evil.example"})
        assert (answer.status, await answer.text()) == (403, f"{WRONG_HOST}\n")
        await context.close()


async def test_pages_of_other_origins_are_refused(browser: Any, tmp_path: Path) -> None:
    async def blank(_: web.Request) -> web.Response:
        return web.Response(text="<title>other</title>", content_type="text/html")

    application = web.Application()
    application.router.add_get("/", blank)
    runner = web.AppRunner(application)
    await runner.setup()
    other = web.TCPSite(runner, "127.0.0.1", 0)
    await other.start()
    try:
        async with running(tmp_path, nodes=1), serving(tmp_path) as page:
            context = await browser.new_context()
            tab = await context.new_page()
            await tab.goto(page.url)
            await tab.get_by_text("live", exact=True).wait_for()
            # Another port is another origin on the same site: the browser sends the cookie along.
            (address,) = runner.addresses
            for path, script in (("/api/nodes", LINK), ("/api/what-if", FORM)):
                await tab.goto(f"http://127.0.0.1:{address[1]}/")
                async with tab.expect_navigation() as caught:
                    await tab.evaluate(script, f"{page.origin}{path}")
                answer = await caught.value
                assert (answer.status, await answer.text()) == (403, f"{WRONG_ORIGIN}\n")
            await context.close()
    finally:
        await runner.cleanup()


async def test_the_page_goes_on_when_its_server_is_back(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        async with serving(tmp_path, token="secret") as first:
            port = first.port
            context = await browser.new_context()
            context.set_default_timeout(30_000)
            tab = await context.new_page()
            await tab.goto(first.url)
            await tab.get_by_text("live", exact=True).wait_for()
        await tab.locator(".connection").get_by_text(LOST).wait_for()
        alert = tab.get_by_role("alert")
        await alert.get_by_text("The connection to mooring ui is lost.").wait_for()
        await alert.get_by_text("What is shown is from ").wait_for()
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        async with serving(tmp_path, token="secret", port=port):
            await tab.get_by_text("live", exact=True).wait_for()
            await tab.get_by_text("Pods placed").locator("..").get_by_text("1").wait_for()
            # What was read again is followed again.
            await cluster.post(PODS, pod("more"))
            await tab.get_by_text("Pods placed").locator("..").get_by_text("2").wait_for()
            await tab.get_by_role("link", name="Decisions").click()
            await tab.get_by_role("link", name="default/more").wait_for()
            await context.close()


async def test_a_lost_cluster_is_not_live(browser: Any, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=1) as cluster,
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        before = time.time()
        await cluster.cluster.stop()
        label = tab.locator(".connection")
        await label.get_by_text(LOST).wait_for()
        shown = LOST.fullmatch(await label.inner_text())
        assert shown is not None
        # The time of day at which the watches ended.
        ended = page.data.summary()["lostSince"]
        assert before <= ended <= time.time()
        assert shown[1] == time.strftime("%H:%M:%S", time.localtime(ended))
        alert = tab.get_by_role("alert")
        await alert.get_by_text("The cluster cannot be read: ").wait_for()
        await alert.get_by_text(f"What is shown is from {shown[1]}.").wait_for()
        assert await tab.get_by_text("live", exact=True).count() == 0


async def test_a_second_visit_needs_no_token(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page, visit(browser, page) as tab:
        await tab.goto(f"{page.origin}/#/queue")
        await tab.reload()
        await tab.get_by_role("heading", name="Pending pods").wait_for()
