from __future__ import annotations

import pytest

from mooring.controllers.rest_mapper import RestMapper
from mooring.errors import ApiError
from tests.controllers.still_cluster import still_cluster


async def test_the_path_of_a_kind() -> None:
    async with still_cluster() as cluster:
        mapper = RestMapper(cluster.client)
        found = await mapper.find("apps/v1", "Deployment")
        assert found is not None
        resource, namespaced = found
        assert resource.path("n", "d") == "/apis/apps/v1/namespaces/n/deployments/d"
        assert namespaced
        node = await mapper.find("v1", "Node")
        assert node is not None and not node[1]
        assert node[0].path("", "x") == "/api/v1/nodes/x"


async def test_kinds_that_are_not_served() -> None:
    async with still_cluster() as cluster:
        mapper = RestMapper(cluster.client)
        assert await mapper.find("apps/v1", "Ship") is None
        assert await mapper.find("sea.io/v1", "Ship") is None


async def test_each_group_version_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with still_cluster() as cluster:
        asked: list[str] = []
        request = cluster.client.request

        async def counted(method: str, path: str, *more: object) -> bytes:
            asked.append(path)
            return await request(method, path, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(cluster.client, "request", counted)
        mapper = RestMapper(cluster.client)
        for kind in ("Deployment", "DaemonSet", "Deployment"):
            assert await mapper.find("apps/v1", kind) is not None
        assert asked == ["/apis/apps/v1"]


async def test_a_failure_of_the_server_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async with still_cluster() as cluster:

        async def refused(method: str, path: str) -> bytes:
            raise ApiError(503, "overloaded")

        monkeypatch.setattr(cluster.client, "request", refused)
        with pytest.raises(ApiError):
            await RestMapper(cluster.client).find("apps/v1", "Deployment")
