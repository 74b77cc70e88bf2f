"""What the page shows, read from a local cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ObjectError
from mooring.insight.page_data import LiveCursor, PageData
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import Reader, running
from tests.support.pages import explained_by_command, serving

HUGE = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "900"}}}]}


async def until(data: PageData, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the summary is as wanted."""
    async with asyncio.timeout(20):
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
            assert found == {"nodes": 2, "pods": 1, "pending": 1, "failure": "", "unread": []}
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
        # The last one of cordoned, then allocatable and requested of cpu, memory and pods.
        assert (row[0] in (0, 1), row[1], row[7]) == (True, False, 1)
        assert changes["summary"]["pods"] == 1
        assert [one.name for one in changes["decisions"] if one.outcome == "bound"] == ["web"]
        assert data.newest_decisions()
        assert data.cursor(data.mark(cursor)) == LiveCursor(
            cursor.version, cursor.generation, cursor.sequence
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


@pytest.mark.parametrize("mark", ["", "0.1.2.3", "....", "x"])
async def test_a_mark_of_another_process_means_nothing(mark: str, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1), serving(tmp_path) as page:
        changes = page.data.changes(page.data.cursor(mark))
        assert changes is not None
        assert "reset" in changes
