"""Discovery in both forms, and paths that are not served."""

from __future__ import annotations

import pytest

from mooring.apiserver.resource_table import Served
from tests.apiserver.api_server import GROUP_GATES, ApiServer
from tests.apiserver.schema.test_custom_schema import KIND

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


async def test_both_forms_tell_of_the_same_resources() -> None:
    server = ApiServer()
    aggregated = {
        (group["metadata"].get("name", ""), version["version"], one["resource"])
        for path in ("/api", "/apis")
        for group in (await server.ask("GET", path, accept=V2))["items"]
        for version in group["versions"]
        for one in version["resources"]
    }
    piecewise = set()
    for group, versions in server.cluster.catalogue.groups.items():
        for version in versions:
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            listed = await server.ask("GET", path)
            piecewise |= {
                (group, version, one["name"])
                for one in listed["resources"]
                if "/" not in one["name"]
            }
    assert aggregated == piecewise
    assert ("", "v1", "pods") in aggregated
    assert ("resource.k8s.io", "v1", "resourceclaims") in aggregated


@pytest.mark.parametrize("features", [GROUP_GATES, frozenset[str]()])
async def test_custom_pod_groups_come_before_the_built_in_ones(features: frozenset[str]) -> None:
    server = ApiServer(features=features)
    for served in (
        Served("a.example.com", "v1", "podgroups", "PodGroup", "", True, (), (), (), "", None),
        Served("b.example.com", "v1", "others", "Other", "", True, (), (), (), "", None),
    ):
        served.custom = KIND
        server.cluster.catalogue.add(served)
    found = [one["name"] for one in (await server.ask("GET", "/apis"))["groups"]]
    before = found.index("a.example.com") < found.index("scheduling.k8s.io")
    assert before is bool(features)
    assert found.index("b.example.com") > found.index("resource.k8s.io")


async def test_versions_that_are_off_by_default_are_not_there() -> None:
    server = ApiServer()
    assert (await server.send("GET", "/apis/scheduling.k8s.io/v1alpha2")).code == 404
    groups = await server.ask("GET", "/apis/scheduling.k8s.io")
    assert [one["version"] for one in groups["versions"]] == ["v1"]


@pytest.mark.parametrize("path", ["/nowhere", "/apis/nowhere", "/api/v2", "/api/v1/nothings"])
async def test_an_unknown_path_is_not_found(path: str) -> None:
    assert (await ApiServer().send("GET", path)).code == 404


async def test_every_document_of_the_index_can_be_had() -> None:
    server = ApiServer()
    index = await server.ask("GET", "/openapi/v3")
    for path in index["paths"]:
        document = await server.ask("GET", f"/openapi/v3/{path}")
        assert document["openapi"] == "3.0.0", path
