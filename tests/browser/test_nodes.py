"""The nodes in a browser: the map, the table that equals it, the filter, and live changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mooring.api import Node
from tests.apiserver.api_server import PODS, pod
from tests.browser.visits import texts, visit
from tests.local.clusters import manifests, running
from tests.support.pages import serving

#: The number of different bytes that a canvas shows.
PAINTED = """canvas => {
  const pen = canvas.getContext("2d");
  return new Set(pen.getImageData(0, 0, canvas.width, canvas.height).data).size;
}"""

NODES = """
apiVersion: v1
kind: Node
metadata: {name: red, labels: {zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: green, labels: {zone: b}}
spec: {unschedulable: true}
status: {allocatable: {cpu: "2", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: blue, labels: {zone: b}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""


UNLIKE = """
apiVersion: v1
kind: Node
metadata: {name: a-idle}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "10", example.com/gpu: "2"}
---
apiVersion: v1
kind: Node
metadata: {name: b-none}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
"""

#: A node that no fake kubelet reports.
LOST = {
    "metadata": {"name": "c-lost"},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", "example.com/gpu": "2"},
        "conditions": [
            {
                "type": "Ready",
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting",
            }
        ],
    },
}

#: The bytes of the first three large cells of a canvas.
CELLS = """canvas => [0, 1, 2].map((at) => {
  const ratio = window.devicePixelRatio;
  const [x, size] = [(3 + at * 87 + 4) * ratio, 76 * ratio];
  return [...canvas.getContext("2d").getImageData(x, 7 * ratio, size, size).data];
})"""


def asking(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def test_the_map_and_the_table_show_the_same(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("web", "1", nodeName="red"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            # The token is not in the address any more.
            assert tab.url == f"{page.origin}/"
            canvas = tab.locator("canvas")
            await canvas.wait_for()
            assert await canvas.evaluate(PAINTED) > 2
            await canvas.focus()
            said = []
            for key in ("Home", "ArrowRight", "ArrowRight"):
                await canvas.press(key)
                said.append(await tab.locator(".said").inner_text())
            await tab.get_by_role("radio", name="Table").check()
            await tab.locator("table").wait_for()
            rows = (await texts(tab, "main table"))[1:]
            assert {row[0]: row[1:] for row in rows} == {
                "red": ["25 %", "1", "4", "schedulable"],
                "green": ["0 %", "0", "2", "cordoned"],
                "blue": ["0 %", "0", "4", "schedulable"],
            }
            for name, share, used, all_of_it, state in rows:
                text = f"{name}: {share} of cpu, {used} of {all_of_it} requested"
                assert f"{text}{', cordoned' if state == 'cordoned' else ''}" in said


async def test_groups_resources_and_the_filter(browser: Any, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=0, objects=manifests(NODES)),
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        await tab.get_by_role("radio", name="Table").check()
        await tab.get_by_label("Group by").select_option("zone")
        await tab.get_by_label("Resource").select_option("memory")
        rows = await texts(tab, "main table")
        assert rows[0][1:3] == ["zone", "memory"]
        assert [row[:2] + row[4:5] for row in rows[1:]] == [
            ["red", "a", "8Gi"],
            ["blue", "b", "8Gi"],
            ["green", "b", "8Gi"],
        ]
        await tab.get_by_label("Filter").fill("zone=b")
        assert [row[0] for row in (await texts(tab, "main table"))[1:]] == ["blue", "green"]
        await tab.get_by_label("Filter").fill("lu")
        assert [row[0] for row in (await texts(tab, "main table"))[1:]] == ["blue"]
        await tab.get_by_role("radio", name="Map").check()
        label = await tab.locator("canvas").get_attribute("aria-label")
        assert label.startswith("Heat map of 1 node by requested memory.")
        await tab.get_by_label("Filter").fill("nothing")
        await tab.get_by_text("No node matches the filter.").wait_for()


async def test_changes_appear_by_themselves(browser: Any, tmp_path: Path) -> None:
    async with (
        running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster,
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        await tab.get_by_role("radio", name="Table").check()
        await cluster.post(PODS, asking("web", "2", nodeName="blue"))
        await tab.get_by_role("row").filter(has_text="blue").get_by_text("50 %").wait_for()
        await cluster.post("/api/v1/nodes", {"metadata": {"name": "yellow"}})
        await tab.get_by_role("link", name="yellow").wait_for()
        await tab.get_by_role("link", name="Decisions").click()
        await cluster.post(PODS, pod("later"))
        row = tab.get_by_role("row").filter(has_text="later")
        await row.get_by_text("bound").wait_for()
        await cluster.post(PODS, asking("huge", "900"))
        row = tab.get_by_role("row").filter(has_text="huge")
        await row.get_by_text("0/4 nodes are available").wait_for()


async def test_nodes_without_a_resource_and_nodes_that_are_not_ready(
    browser: Any, tmp_path: Path
) -> None:
    async with (
        running(tmp_path, nodes=0, objects=manifests(UNLIKE)) as cluster,
        serving(tmp_path) as page,
        visit(browser, page) as tab,
    ):
        await cluster.post("/api/v1/nodes", LOST)
        await tab.get_by_label("Heat map of 3 nodes").wait_for()
        await tab.get_by_label("Resource").select_option("example.com/gpu")
        canvas = tab.locator("canvas")
        idle, none, lost = await canvas.evaluate(CELLS)
        # Only texts are painted on a node without the resource.
        opaque = [sum(byte == 255 for byte in cell[3::4]) for cell in (idle, none, lost)]
        assert opaque[1] < opaque[0] / 2 < opaque[2]
        await canvas.focus()
        said = []
        for key in ("Home", "ArrowRight", "ArrowRight"):
            await canvas.press(key)
            said.append(await tab.locator(".said").inner_text())
        gpu = "example.com/gpu"
        assert said == [
            f"a-idle: 0 % of {gpu}, 0 of 2 requested",
            f"b-none: none of {gpu}",
            f"c-lost: 0 % of {gpu}, 0 of 2 requested, NotReady",
        ]
        await tab.get_by_role("radio", name="Table").check()
        rows = (await texts(tab, "main table"))[1:]
        assert [(row[0], row[1], row[-1]) for row in rows] == [
            ("a-idle", "0 %", "schedulable"),
            ("b-none", "none", "schedulable"),
            ("c-lost", "0 %", "NotReady"),
        ]
        await tab.get_by_role("link", name="c-lost").click()
        line = tab.locator("#not-ready")
        await line.get_by_text("NodeStatusUnknown: Kubelet stopped posting").wait_for()
        await tab.get_by_role("link", name="Nodes", exact=True).click()
        # A change appears by itself.
        status = {"conditions": [{"type": "Ready", "status": "True"}]}
        await cluster.client.patch(Node, "c-lost", "", {"status": status}, subresource="status")
        await tab.get_by_role("radio", name="Table").check()
        row = tab.get_by_role("row").filter(has_text="c-lost")
        await row.get_by_text("schedulable").wait_for()


async def test_one_node(browser: Any, tmp_path: Path) -> None:
    async with running(tmp_path, nodes=0, objects=manifests(NODES)) as cluster:
        await cluster.post(PODS, asking("web", "1", nodeName="red"))
        async with serving(tmp_path) as page, visit(browser, page) as tab:
            await tab.get_by_label("Search nodes and pods").fill("re")
            await tab.get_by_role("option").filter(has_text="red").click()
            await tab.get_by_role("heading", name="red").wait_for()
            cpu = tab.get_by_role("row").filter(has_text="cpu").first
            assert (await cpu.inner_text()).split() == ["cpu", "1", "4", "25", "%"]
            await tab.get_by_text("zone=a").wait_for()
            await cluster.post(PODS, asking("more", "1", nodeName="red"))
            await cpu.get_by_text("50 %").wait_for()
            await tab.get_by_role("link", name="default/web").click()
            await tab.get_by_role("heading", name="web").wait_for()
