from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver.subresources.pod_logs import PodLogOptions
from tests.apiserver.api_server import PODS, ApiServer, pod


async def test_a_log_says_that_the_container_is_simulated() -> None:
    server = ApiServer()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await server.ask("POST", "/api/v1/nodes", node)
    await server.ask("POST", PODS, pod("p", nodeName="n"))
    assert b"simulated" in (await server.send("GET", f"{PODS}/p/log")).body
    wrong = await server.send("GET", f"{PODS}/p/log?container=x")
    assert json.loads(wrong.body)["message"] == "container x is not valid for pod p"
    before = await server.send("GET", f"{PODS}/p/log?previous=true")
    assert before.code == 400
    text = 'previous terminated container "c" in pod "p" not found'
    assert json.loads(before.body)["message"] == text
    assert (await server.send("GET", f"{PODS}/p/log?sinceTime=now")).code == 400
    assert (await server.send("POST", f"{PODS}/p/exec")).code == 501


class Logs:
    """A source of logs that notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, PodLogOptions]] = []

    def log(self, pod: Any, container: str, options: PodLogOptions) -> Any:
        """Return a log of one chunk."""
        self.asked.append((container, options))

        async def chunks() -> Any:
            yield b"line\n"

        return chunks()


async def _placed(**spec: Any) -> ApiServer:
    server = ApiServer()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await server.ask("POST", "/api/v1/nodes", node)
    await server.ask("POST", PODS, pod("p", **{"nodeName": "n", **spec}))
    return server


TWO = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]


async def test_what_a_request_selects() -> None:
    server = await _placed(containers=TWO)
    logs = server.api.log_source = Logs()
    query = "container=b&follow=true&previous=1&timestamps=true&tailLines=5&sinceSeconds=9"
    query += "&limitBytes=100&sinceTime=2026-01-01T00:00:00Z"
    response = await server.send("GET", f"{PODS}/p/log?{query}")
    assert response.stream is not None
    assert [chunk async for chunk in response.stream] == [b"line\n"]
    ((container, options),) = logs.asked
    assert container == "b"
    assert options == PodLogOptions(
        follow=True,
        previous=True,
        timestamps=True,
        tail=5,
        since_seconds=9,
        since_time=1767225600.0,
        limit_bytes=100,
    )


async def test_numbers_that_are_none_are_left_out() -> None:
    server = await _placed()
    logs = server.api.log_source = Logs()
    await server.send("GET", f"{PODS}/p/log?tailLines=x&limitBytes=-1")
    assert logs.asked == [("c", PodLogOptions())]


REFUSED: dict[str, tuple[dict[str, Any], str, int, str]] = {
    "several containers": (
        {"containers": TWO, "initContainers": [{"name": "i", "image": "i"}]},
        "",
        400,
        "a container name must be specified for pod p, choose one of: [i a b]",
    ),
    "no node": ({"nodeName": ""}, "", 400, "pod p does not have a host assigned"),
    "a node that is gone": ({"nodeName": "m"}, "", 404, 'pods "m" not found'),
}


@pytest.mark.parametrize(("spec", "query", "code", "message"), REFUSED.values(), ids=REFUSED)
async def test_logs_that_are_not_there(
    spec: dict[str, Any], query: str, code: int, message: str
) -> None:
    server = await _placed(**spec)
    response = await server.send("GET", f"{PODS}/p/log{query}")
    assert (response.code, json.loads(response.body)["message"]) == (code, message)
