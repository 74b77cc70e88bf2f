from __future__ import annotations

from typing import Any

import pytest

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


def _definition(**scale: str) -> dict[str, Any]:
    number = {"type": "integer"}
    part = {"type": "object", "properties": {"n": number, "selector": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": part, "status": part}}
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", **scale}
    version = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": schema}, "subresources": {"scale": paths}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.a.io"},
        "spec": {
            "group": "a.io",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        },
    }


async def test_a_custom_object_is_scaled_where_its_definition_says() -> None:
    server = ApiServer()
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await server.ask("POST", path, _definition(labelSelectorPath=".status.selector"))
    things = "/apis/a.io/v1/namespaces/default/things"
    thing = {"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": "t"}}
    status = {"n": 1, "selector": "a=b"}
    await server.ask("POST", things, {**thing, "spec": {"n": 2}, "status": status})
    scale = await server.ask("GET", f"{things}/t/scale")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 1, "selector": "a=b"}
    patch = b'{"spec":{"replicas":5}}'
    patched = await server.send("PATCH", f"{things}/t/scale", patch, content_type=MERGE)
    assert patched.code == 200
    assert (await server.ask("GET", f"{things}/t"))["spec"]["n"] == 5


async def test_a_replication_controller_has_a_plain_selector() -> None:
    server = ApiServer()
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "r"}}
    path = "/api/v1/namespaces/default/replicationcontrollers"
    await server.ask("POST", path, {**made, "spec": {"template": template}})
    scale = await server.ask("GET", f"{path}/r/scale")
    assert scale["status"]["selector"] == "a=b"


async def _deployed() -> tuple[ApiServer, str]:
    server = ApiServer()
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    await server.ask("POST", f"{APPS}/deployments", made)
    return server, f"{APPS}/deployments/d/scale"


async def test_a_scale_of_another_name() -> None:
    server, path = await _deployed()
    scale = await server.ask("GET", path)
    scale["metadata"]["name"] = "e"
    assert (await server.send("PUT", path, scale)).code == 400


@pytest.mark.parametrize("media", ["application/apply-patch+yaml", "text/plain"])
async def test_a_patch_of_another_kind(media: str) -> None:
    server, path = await _deployed()
    found = await server.send("PATCH", f"{path}?fieldManager=m", b"{}", content_type=media)
    assert found.code == 415


async def test_managers_of_a_scale() -> None:
    server, path = await _deployed()
    patch = b'{"spec":{"replicas":5}}'
    await server.send("PATCH", path, patch, content_type=MERGE)
    found = await server.ask("GET", f"{APPS}/deployments/d")
    parts = [one.get("subresource", "") for one in found["metadata"]["managedFields"]]
    assert "scale" in parts
