"""What the page shows, read from a local cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ObjectError
from mooring.leader.scheduler_questions import SchedulerAddress
from mooring.ui.page_data import LiveCursor, PageData
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import Reader, running
from tests.support.pages import explained_by_command, serving
from tests.support.waiting import PATIENCE
from tests.ui.scripted_leader import record

HUGE = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "900"}}}]}


async def until(data: PageData, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the summary is as wanted."""
    async with asyncio.timeout(PATIENCE):
        while not wanted(data.summary()):
            await asyncio.sleep(0.01)
    return data.summary()


async def two_pods(cluster: Reader) -> None:
    await cluster.post(PODS, pod("web"))
    await cluster.post(PODS, {**pod("huge"), "spec": HUGE})
    await cluster.until(f"{PODS}/web", lambda found: found["spec"].get("nodeName"))


async def test_the_whole_cluster(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await two_pods(cluster)
        async with serving(tmp_path) as page:
            found = await until(page.data, lambda one: one["pods"] == 1 and one["pending"] == 1)
            assert found == {
                "nodes": 2,
                "pods": 1,
                "pending": 1,
                "failure": "",
                "unread": [],
                "leader": None,
                "lostSince": None,
            }
            about = page.data.about()
            assert about["server"].startswith("https://127.0.0.1:")
            (profile,) = about["profiles"]
            assert profile["name"] == "default-scheduler"
            assert profile["weights"]["TaintToleration"] == 3
            assert len(page.data.whole_nodes()["names"]) == 2


async def test_one_node_and_its_pods(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await two_pods(cluster)
        async with serving(tmp_path) as page:
            await until(page.data, lambda one: one["pods"] == 1)
            node = page.data.node("node-0")
            assert node["labels"]["kubernetes.io/hostname"] == "node-0"
            assert node["requested"]["pods"] == 1
            (found,) = node["pods"]
            assert (found["namespace"], found["name"]) == ("default", "web")
            with pytest.raises(ObjectError, match='there is no node "nope"'):
                page.data.node("nope")


async def test_a_search_finds_nodes_and_pods(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await two_pods(cluster)
        async with serving(tmp_path) as page:
            await until(page.data, lambda one: one["pods"] == 1 and one["pending"] == 1)
            assert page.data.search("node-1") == {"nodes": ["node-1"], "pods": []}
            (found,) = page.data.search("default/hu")["pods"]
            assert found == {"namespace": "default", "name": "huge", "node": ""}
            assert page.data.search("no such") == {"nodes": [], "pods": []}


@pytest.mark.parametrize("name", ["huge", "web"])
async def test_an_explanation_is_that_of_the_command(name: str, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await two_pods(cluster)
        async with serving(tmp_path) as page:
            await until(page.data, lambda one: one["pods"] == 1 and one["pending"] == 1)
            found = await page.data.explain("default", name)
            assert found.pop("rules") == "the default configuration"
            printed = await asyncio.to_thread(explained_by_command, name, tmp_path)
            assert _certain(json.loads(json.dumps(found))) == _certain(printed)
            with pytest.raises(ObjectError, match='there is no pod "nope" in namespace default'):
                await page.data.explain("default", "nope")


def _certain(found: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is drawn at random: the choice among equal nodes, and its seed."""
    drawn = ("seed", "node", "chosenNode", "why")
    return {key: value for key, value in found.items() if key not in drawn}


async def test_changes_since_a_mark(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster, serving(tmp_path) as page:
        data = page.data
        cursor = data.cursor(data.whole_nodes()["mark"])
        first = data.changes(cursor)
        assert first is not None
        assert set(first) == {"summary"}
        assert data.changes(cursor) is None
        await two_pods(cluster)
        await until(data, lambda one: one["pods"] == 1 and one["pending"] == 1)
        changes = data.changes(cursor)
        assert changes is not None
        (row,) = changes["nodes"]["rows"]
        # Cordoned, not ready, then allocatable and requested of cpu, memory and pods.
        assert (row[0] in (0, 1), row[1:3], row[8]) == (True, [False, False], 1)
        assert changes["summary"]["pods"] == 1
        assert [one.name for one in changes["decisions"] if one.outcome == "bound"] == ["web"]
        assert data.newest_decisions()
        assert data.cursor(data.mark(cursor)) == LiveCursor(
            cursor.version, cursor.generation, cursor.sequence, cursor.revision
        )


async def test_another_set_of_nodes_must_be_read_again(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster, serving(tmp_path) as page:
        data = page.data
        cursor = data.cursor(data.whole_nodes()["mark"])
        data.changes(cursor)
        await cluster.post("/api/v1/nodes", {"metadata": {"name": "more"}})
        await until(data, lambda one: one["nodes"] == 2)
        changes = data.changes(cursor)
        assert changes is not None
        assert changes["reset"] == data.nodes.generation
        assert "nodes" not in changes
        assert data.changes(cursor) is None


@pytest.mark.parametrize("mark", ["", "0.1.2.3.4", ".....", "x"])
async def test_a_mark_of_another_process_means_nothing(mark: str, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        changes = page.data.changes(page.data.cursor(mark))
        assert changes is not None
        assert "reset" in changes


async def live(data: PageData) -> None:
    """Wait until the leader reports its decisions."""
    await until(data, lambda one: one["leader"].state == "live")


async def test_a_decision_that_is_withdrawn_replaces_all(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        data = page.data
        cursor = data.cursor(data.whole_nodes()["mark"])
        data.changes(cursor)
        told = record(1, 1, time=7.0)
        data.decisions.add_record(told)
        changes = data.changes(cursor)
        assert changes is not None
        assert [one.outcome for one in changes["decisions"]] == ["scheduled"]
        # The binding failed, so the leader reports the attempt again.
        told.outcome = "error"
        data.decisions.add_record(told)
        changes = data.changes(cursor)
        assert changes is not None
        assert "decisions" not in changes
        assert [one.outcome for one in changes["allDecisions"]] == ["error"]
        assert data.changes(cursor) is None


async def test_the_leader_reports_earlier_decisions(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        await two_pods(cluster)
        await cluster.until(f"{PODS}/huge", lambda found: found["status"].get("conditions"))
        async with serving(tmp_path, leader=SchedulerAddress()) as page:
            await live(page.data)
            async with asyncio.timeout(PATIENCE):
                while len(page.data.newest_decisions()) < 2:
                    await asyncio.sleep(0.01)
            found = {one.name: one for one in page.data.newest_decisions()}
            assert (found["web"].outcome, found["web"].attempt) == ("scheduled", 1)
            assert found["huge"].outcome == "unschedulable"
            web = await page.data.explain_attempt("default", "web", 1)
            assert isinstance(web, dict)
            answered = await cluster.get("/explain/v1/namespaces/default/pods/web?attempt=1")
            for key in ("record", "nodes", "totals", "scorePlugins", "filterPlugins", "statuses"):
                assert web[key] == answered[key]
            assert web["ruleDifferences"] == []


async def test_pending_pods_have_places_in_the_queue(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        await two_pods(cluster)
        await cluster.until(f"{PODS}/huge", lambda found: found["status"].get("conditions"))
        async with serving(tmp_path, leader=SchedulerAddress()) as page:
            await live(page.data)
            await until(page.data, lambda one: one["pending"] == 1)
            found = await page.data.pending("", 0)
            assert found["problem"] == ""
            assert found["pods"][0]["place"].startswith("unschedulable for ")
            place = await page.data.place("default", "huge")
            assert place["place"].startswith("unschedulable for ")
            assert (await page.data.place("default", "web"))["place"] == ""
        async with serving(tmp_path) as page:
            await until(page.data, lambda one: one["pending"] == 1)
            assert (await page.data.pending("", 0))["pods"][0]["place"] == ""
            assert await page.data.explain_attempt("default", "huge", None) == ""
            with pytest.raises(ObjectError, match="no leader is asked"):
                await page.data.explain_attempt("default", "huge", 1)
