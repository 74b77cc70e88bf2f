from __future__ import annotations

from tests.apiserver.api_server import ApiServer


async def test_a_custom_resource_is_served_as_soon_as_it_is_defined() -> None:
    server = ApiServer()
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    things = "/apis/example.com/v1/namespaces/default/things"
    assert (await server.send("GET", things)).code == 404
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert (await server.send("POST", path, definition)).code == 201
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    made = await server.ask("POST", things, thing | {"spec": {"size": 1, "odd": 2}})
    assert made["spec"] == {"size": 1}
    assert (await server.send("POST", things, thing | {"spec": {"size": "x"}})).code == 422
    await server.send("DELETE", f"{path}/things.example.com")
    assert (await server.send("GET", things)).code == 404
    assert server.store.count("example.com/things") == 0
