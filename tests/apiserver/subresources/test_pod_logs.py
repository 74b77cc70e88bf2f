from __future__ import annotations

import json

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
