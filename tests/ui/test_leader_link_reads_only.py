"""The page and its link to the leader send nothing but GET to the cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mooring.leader.scheduler_questions import SchedulerAddress
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.pages import serving
from tests.support.recording_proxy import recording_proxy
from tests.support.waiting import PATIENCE


async def test_only_get_is_sent_whatever_the_page_asks(tmp_path: Path) -> None:
    huge = pod("huge")
    huge["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4000"}}
    async with (
        running(tmp_path, nodes=2) as cluster,
        recording_proxy(tmp_path / "kubeconfig", tmp_path) as proxy,
        serving(tmp_path, kubeconfig="proxied", leader=SchedulerAddress()) as page,
        asyncio.timeout(PATIENCE),
    ):
        await cluster.post(PODS, huge)
        while not any(one.attempt for one in page.data.newest_decisions()):
            await asyncio.sleep(0.01)
        assert (await page.data.place("default", "huge"))["place"]
        for attempt in (None, 1):
            assert isinstance(await page.data.explain_attempt("default", "huge", attempt), dict)
        await page.data.explain("default", "huge")
    assert {method for method, _ in proxy.requests} == {"GET"}
    explained = [path for _, path in proxy.requests if path.startswith("/explain/")]
    assert explained == [
        "/explain/v1",
        "/explain/v1/decisions?since=0",
        "/explain/v1/queue?limit=5000",
        "/explain/v1/namespaces/default/pods/huge",
        "/explain/v1/namespaces/default/pods/huge?attempt=1",
    ]
