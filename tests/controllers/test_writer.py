from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.api.kinds import decode_as
from mooring.controllers.controlled_kinds import NODES, PODS
from mooring.controllers.writer import Object, difference
from mooring.errors import ApiError
from tests.controllers.still_cluster import StillCluster, still_cluster
from tests.support.controllers import template


def pod(name: str = "p") -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


async def _made(cluster: StillCluster, name: str = "p") -> Object:
    obj = {**pod(name), "spec": template()["spec"]}
    return await cluster.writer.create(PODS, obj)


async def test_an_object_is_created_read_replaced_and_patched() -> None:
    async with still_cluster() as cluster:
        writer = cluster.writer
        made = await _made(cluster)
        assert made["metadata"]["uid"]
        assert await writer.get(PODS, "default", "p") == made
        made["metadata"]["labels"] = {"a": "b"}
        changed = await writer.replace(PODS, made)
        assert changed["metadata"]["labels"] == {"a": "b"}
        with pytest.raises(ApiError) as refused:
            await writer.replace(PODS, made)
        assert refused.value.is_conflict
        patched = await writer.patch(
            PODS, "default", "p", {"status": {"phase": "Running"}}, "status"
        )
        assert patched["status"]["phase"] == "Running"


async def test_a_patch_of_what_is_gone() -> None:
    async with still_cluster() as cluster:
        await cluster.writer.patch_if_there(PODS, "default", "none", {"metadata": {}})
        await _made(cluster)
        await cluster.writer.patch_if_there(
            PODS, "default", "p", {"metadata": {"labels": {"a": "b"}}}
        )
        found = await cluster.get(Pod, "p")
        assert found is not None and found["metadata"]["labels"]["a"] == "b"
        with pytest.raises(ApiError):
            await cluster.writer.patch_if_there(PODS, "default", "p", {"spec": {"nodeName": 5}})


async def test_a_change_is_written_without_or_with_its_status() -> None:
    async with still_cluster() as cluster:
        old = decode_as(await _made(cluster), Pod)
        writer, version = cluster.writer, old.metadata.resource_version
        assert await writer.change(PODS, old, old, version=version) is None
        metadata = replace(old.metadata, labels={"a": "b"})
        new = replace(old, metadata=metadata, status=replace(old.status, phase="Running"))
        stored = await writer.change(PODS, old, new, version=version)
        assert stored is not None
        assert (stored["metadata"]["labels"], stored["status"]["phase"]) == ({"a": "b"}, "Pending")
        stored = await writer.change(PODS, old, new, "status")
        assert stored is not None and stored["status"]["phase"] == "Running"
        with pytest.raises(ApiError) as refused:
            await writer.change(PODS, old, new, version=version)
        assert refused.value.is_conflict


def test_difference_is_a_merge_patch() -> None:
    old = {"same": 1, "gone": 2, "map": {"a": 1, "b": 2}, "list": [1], "kind": {"x": 1}}
    new = {"same": 1, "map": {"a": 1, "c": 3}, "list": [1, 2], "kind": "text", "new": {}}
    patch = {"gone": None, "map": {"b": None, "c": 3}, "list": [1, 2], "kind": "text", "new": {}}
    assert difference(old, new) == patch
    assert difference(old, old) == {}


async def test_only_the_object_that_was_read_is_deleted() -> None:
    async with still_cluster() as cluster:
        first = decode_as(await _made(cluster), Pod)
        await cluster.writer.delete(PODS, first, grace=0)
        assert await cluster.get(Pod, "p") is None
        await cluster.writer.delete(PODS, first, grace=0)
        await _made(cluster)
        # The name now belongs to another pod, which stays.
        await cluster.writer.delete(PODS, first, grace=0)
        assert await cluster.get(Pod, "p") is not None


async def test_an_object_that_has_changed_is_not_deleted() -> None:
    async with still_cluster() as cluster:
        read = decode_as(await _made(cluster), Pod)
        await cluster.patch(Pod, "p", {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(ApiError) as refused:
            await cluster.writer.delete(PODS, read, unchanged=True)
        assert refused.value.is_conflict
        await cluster.writer.delete(PODS, read, policy="Foreground")
        found = await cluster.get(Pod, "p")
        assert found is not None
        assert found["metadata"]["finalizers"] == ["foregroundDeletion"]


async def test_a_refusal_is_raised() -> None:
    async with still_cluster() as cluster:
        with pytest.raises(ApiError) as refused:
            await cluster.writer.get(NODES, "", "none")
        assert refused.value.is_not_found
