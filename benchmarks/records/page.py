"""What the page of `mooring ui` costs the browser, with many nodes and a stream of decisions."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.objects import PodTemplate, make_nodes
from benchmarks.records.figures import Figure
from mooring.api import Node, Pod
from mooring.config import default_config
from mooring.framework.features import FeatureGates
from mooring.informers.store import Store
from mooring.registry import default_registry
from mooring.replay.engine import ReplayEngine
from mooring.replay.replay_rules import ReplayRules
from mooring.ui.page_access import PageAccess
from mooring.ui.page_data import PageData
from mooring.ui.page_files import load_page
from mooring.ui.page_server import PageServer, listen
from mooring.ui.seen_decisions import SeenDecisions

#: Seconds for which each view is open while decisions arrive, and their number per second.
_SECONDS = 4.0
_RATE = 500
_PERIOD = 0.05
#: The most milliseconds of one task of the browser, after loading.
_MOST_TASK = 200.0
#: The most kilobytes of the first transfer, compressed, and of the page's own script.
_MOST_TRANSFER = 300.0
_MOST_SCRIPT = 120.0

_OBSERVE = """() => {
  window.tasks = [0];
  const note = (list) => list.getEntries().forEach((one) => window.tasks.push(one.duration));
  new PerformanceObserver(note).observe({ type: "longtask" });
}"""
#: The longest task since the last call.
_LONGEST = "() => Math.max(...window.tasks.splice(0), 0)"
_TRANSFERRED = (
    "() => performance.getEntries().reduce((sum, one) => sum + (one.transferSize ?? 0), 0)"
)


class BusyCluster:
    """A cluster in memory whose pods are placed all the time; a `PageSource`."""

    failure = ""
    unread: Sequence[str] = ()

    def __init__(self, nodes: int) -> None:
        registry, gates = default_registry(), FeatureGates()
        config = default_config(registry=registry, feature_gates=gates)
        engine = ReplayEngine(ReplayRules(config, registry, gates, "the default configuration"))
        self.scheduler = engine.scheduler
        self.pods: Store[Pod] = engine.pods
        self.decisions = SeenDecisions(time.time)
        self.pods.add_handler(self.decisions.handler())
        for node in make_nodes(nodes, 3):
            engine.informers.store(Node).add(node)
        self.scheduler.inbox.drain()
        self._nodes = nodes
        self._template = PodTemplate()
        self._made = 0

    async def run(self, seconds: float) -> None:
        """Place pods for some seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for _ in range(int(_RATE * _PERIOD)):
                name, node = f"pod-{self._made}", f"node-{self._made * 7919 % self._nodes}"
                self.pods.add(self._template.make(name, "default"))
                self.pods.add(self._template.make(name, "default", node))
                self._made += 1
            self.scheduler.inbox.drain()
            await asyncio.sleep(_PERIOD)


async def page(nodes: int) -> list[Figure]:
    """Open the views one after the other while decisions arrive; needs Chromium."""
    from playwright.async_api import async_playwright

    source = BusyCluster(nodes)
    with listen(0) as listener:
        access = PageAccess(listener.getsockname()[1])
        data = PageData(source, rules="the default configuration", server="memory")
        server = PageServer(data, load_page(), access)
        server.start(listener)
        try:
            async with async_playwright() as playwright:
                arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
                browser = await playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=arguments
                )
                return await _measure(await browser.new_page(), access.url, source)
        finally:
            await server.stop()


async def _measure(tab: Any, url: str, source: BusyCluster) -> list[Figure]:
    await tab.goto(url)
    await tab.get_by_text("live", exact=True).wait_for()
    transferred = await tab.evaluate(_TRANSFERRED) / 1000
    own = [one.size for path, one in load_page().items() if re.fullmatch(r"/\w+\.js", path)]
    await tab.evaluate(_OBSERVE)
    views = {
        "map": tab.get_by_role("radio", name="Map"),
        "table": tab.get_by_role("radio", name="Table"),
        "decisions": tab.get_by_role("link", name="Decisions"),
        "queue": tab.get_by_role("link", name="Queue"),
    }
    figures = [
        Figure("page: first transfer, compressed", transferred, _MOST_TRANSFER, "kB"),
        Figure("page: own script", sum(own) / 1000, _MOST_SCRIPT, "kB"),
    ]
    for name, opens in views.items():
        await opens.click()
        before = source.decisions.last
        await source.run(_SECONDS)
        rate = (source.decisions.last - before) / _SECONDS
        longest = await tab.evaluate(_LONGEST)
        detail = f"{rate:.0f} decisions/s"
        figures.append(Figure(f"page: longest task, {name}", longest, _MOST_TASK, "ms", detail))
    return figures
