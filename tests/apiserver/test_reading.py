"""Get and list: pages, selectors, resource versions, output forms."""

from __future__ import annotations

import json

import pytest

from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
async def server() -> ApiServer:
    server = ApiServer()
    for name in "abcde":
        await server.ask("POST", MAPS, config_map(name))
    return server


def names(listed: dict[str, object]) -> list[str]:
    items: list[dict[str, dict[str, str]]] = listed["items"]  # type: ignore[assignment]
    return [one["metadata"]["name"] for one in items]


async def test_pages_show_one_moment(server: ApiServer) -> None:
    first = await server.ask("GET", f"{MAPS}?limit=2")
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    await server.ask("DELETE", f"{MAPS}/c")
    await server.ask("POST", MAPS, config_map("bb"))
    token = first["metadata"]["continue"]
    second = await server.ask("GET", f"{MAPS}?limit=10&continue={token}")
    assert names(second) == ["c", "d", "e"]
    assert "continue" not in second["metadata"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_items_of_built_in_lists_have_no_kind(server: ApiServer) -> None:
    listed = await server.ask("GET", MAPS)
    assert listed["kind"] == "ConfigMapList"
    assert all("kind" not in one and "apiVersion" not in one for one in listed["items"])


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        pytest.param("limit=x", 400, "invalid syntax", id="a limit that is no number"),
        pytest.param("continue=garbage", 400, "continue key is not valid", id="a foreign token"),
        pytest.param("resourceVersion=x", 400, "invalid resource version", id="a bad version"),
        pytest.param("resourceVersion=99999", 504, "Too large", id="a version of the future"),
        pytest.param("resourceVersionMatch=Exact", 422, "is forbidden unless", id="no version"),
        pytest.param("sendInitialEvents=true", 422, "forbidden for list", id="initial events"),
        pytest.param("labelSelector=a,", 400, "identifier after ','", id="half a selector"),
        pytest.param("labelSelector=a%20b", 400, "found 'b', expected: in", id="a bad selector"),
        pytest.param("fieldSelector=spec.x%3D1", 400, "is not a known field", id="a field"),
    ],
)
async def test_a_bad_list_is_refused(server: ApiServer, query: str, code: int, text: str) -> None:
    response = await server.send("GET", f"{MAPS}?{query}")
    assert response.code == code
    assert text in json.loads(response.body)["message"]


async def test_selectors_choose_by_labels_and_fields(server: ApiServer) -> None:
    for name, node in (("p1", "n1"), ("p2", "n2"), ("p3", "")):
        await server.ask("POST", PODS, pod(name, **({"nodeName": node} if node else {})))
    assert names(await server.ask("GET", f"{PODS}?labelSelector=app+in+(p1,p3)")) == ["p1", "p3"]
    assert names(await server.ask("GET", f"{PODS}?fieldSelector=spec.nodeName%3Dn2")) == ["p2"]
    assert names(await server.ask("GET", f"{PODS}?fieldSelector=spec.nodeName%3D")) == ["p3"]
    listed = await server.ask("GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dp1")
    assert names(listed) == ["p2", "p3"]


async def test_a_table_has_the_columns_of_the_kind(server: ApiServer) -> None:
    await server.ask("POST", PODS, pod("p", nodeName="n1"))
    table = await server.ask("GET", PODS, accept=TABLE)
    assert [one["name"] for one in table["columnDefinitions"]][:5] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    assert table["rows"][0]["cells"] == [
        "p", "0/1", "Pending", "0", "0s", "<none>", "n1", "<none>", "<none>",
    ]  # fmt: skip
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_only_known_forms_are_written(server: ApiServer) -> None:
    response = await server.send("GET", MAPS, accept="application/vnd.kubernetes.protobuf")
    assert response.code == 406
    response = await server.send("GET", f"{MAPS}/a", accept="application/yaml")
    assert b"kind: ConfigMap" in response.body
