"""What-if questions of the page, about a local cluster."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import MooringError
from mooring.framework.plugin import Plugin
from mooring.ui.page_questions import WhatIfQuestion
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.pages import serving
from tests.support.waiting import PATIENCE
from tests.ui.test_page_data import HUGE, until


async def test_draining_the_only_node(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await cluster.post(PODS, pod("web"))
        await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))
        async with serving(tmp_path) as page:
            await until(page.data, lambda one: one["pods"] == 1)
            found = await page.questions.ask(WhatIfQuestion("drain", ("node-0",)))
            assert found["unplaced"]["total"] == 1
            (one,) = found["unplaced"]["pods"]
            assert (one.pod, one.from_node) == ("default/web", "node-0")
            found = await page.questions.ask(WhatIfQuestion("cordon", ("node-0",)))
            assert found["unplaced"] == {"total": 0, "pods": []}
        # The cluster itself has not changed.
        assert (await cluster.get(f"{PODS}/web"))["spec"]["nodeName"] == "node-0"


async def test_more_nodes_and_other_weights(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster, serving(tmp_path) as page:
        await cluster.post(PODS, {**pod("huge"), "spec": HUGE})
        await until(page.data, lambda one: one["pending"] == 1)
        found = await page.questions.ask(WhatIfQuestion("add", ("node-0",), 2))
        assert (found["moved"]["total"], found["placed"]["total"]) == (0, 0)
        weights = {"NodeResourcesFit": 0}
        found = await page.questions.ask(WhatIfQuestion("weights", weights=weights))
        assert found["moved"]["total"] == 0


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        pytest.param(WhatIfQuestion("drain"), "name a node", id="no node"),
        pytest.param(WhatIfQuestion("drain", ("x",)), 'there is no node "x"', id="an unknown node"),
        pytest.param(WhatIfQuestion("add", ("a", "b")), "name one node to copy", id="two to copy"),
        pytest.param(WhatIfQuestion("weights"), "no weight differs", id="no weights"),
        pytest.param(
            WhatIfQuestion("weights", weights={"Nope": 1}), '"Nope"', id="an unknown plugin"
        ),
        pytest.param(
            WhatIfQuestion("weights", profile="x", weights={"Nope": 1}), '"x"', id="no such profile"
        ),
    ],
)
async def test_a_question_that_makes_no_sense(
    question: WhatIfQuestion, problem: str, tmp_path: Path
) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        with pytest.raises(MooringError, match=problem):
            await page.questions.ask(question)


async def test_nobody_waits_any_more(tmp_path: Path) -> None:
    class Slow(Plugin):
        begun = threading.Event()
        ended = threading.Event()
        asked = 0

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            type(self).asked += 1
            self.begun.set()
            # Until the question is given up: the next pod is not asked about.
            assert self.ended.wait(PATIENCE)

    async with running(tmp_path, nodes=1, plan=None) as cluster:
        for i in range(3):
            await cluster.post(PODS, pod(f"p{i}"))
        async with serving(tmp_path, plugins=[Slow]) as page:
            await until(page.data, lambda one: one["pending"] == 3)
            asking = asyncio.create_task(page.questions.ask(WhatIfQuestion("cordon", ("node-0",))))
            assert await asyncio.to_thread(Slow.begun.wait, 20)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            assert asking.cancelled()
            Slow.ended.set()
            await asyncio.get_running_loop().shutdown_default_executor()
            assert Slow.asked == 1
