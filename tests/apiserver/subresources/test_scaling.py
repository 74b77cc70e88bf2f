from __future__ import annotations

from tests.apiserver.api_server import ApiServer

MERGE = "application/merge-patch+json"
APPS = "/apis/apps/v1/namespaces/default"


async def test_a_scale_is_read_and_written() -> None:
    server = ApiServer()
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 2},
    }
    await server.ask("POST", f"{APPS}/deployments", made)
    path = f"{APPS}/deployments/d/scale"
    scale = await server.ask("GET", path)
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"]["selector"] == "a=b"
    scaled = await server.ask("PUT", path, scale | {"spec": {"replicas": 5}})
    assert scaled["spec"] == {"replicas": 5}
    assert (await server.ask("GET", f"{APPS}/deployments/d"))["metadata"]["generation"] == 2
    stale = await server.send("PUT", path, scale)
    assert stale.code == 409
    negative = await server.send("PATCH", path, b'{"spec":{"replicas":-1}}', content_type=MERGE)
    assert negative.code == 422
