"""Objects that count as loaded."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.loaded import derives, is_loaded_pod
from mooring.apiserver.resource_store import key_of
from tests.apiserver.api_server import ApiServer

Object = dict[str, Any]
DEPLOYMENT = ("apps/v1", "Deployment", "apps/deployments", "default/d")
NODE = ("v1", "Node", "/nodes", "d")


def reference(version: str, kind: str, uid: str = "u", **more: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "name": "d", "uid": uid, **more}


def server(*, is_loaded: bool) -> ApiServer:
    found = ApiServer()
    for version, kind, resource, key in (DEPLOYMENT, NODE):
        metadata = {"name": "d", "namespace": "default", "uid": "u"}
        made = {"apiVersion": version, "kind": kind, "metadata": metadata}
        found.store.put(resource, key, made, is_loaded=is_loaded)
    return found


@pytest.mark.parametrize(
    ("owner", "is_loaded", "expected"),
    [
        (reference("apps/v1", "Deployment"), True, True),
        (reference("apps/v1", "Deployment"), False, False),
        (reference("v1", "Node"), True, True),
        (reference("v1", "Node"), False, False),
        (reference("apps/v1", "Deployment", "other"), True, False),
        (reference("apps/v1", "Deployment", "other", controller=True), False, True),
        (reference("apps/v1", "ReplicaSet", controller=True), False, True),
        (reference("example.com/v1", "Rollout", controller=True), False, True),
        (reference("example.com/v1", "Rollout"), False, False),
    ],
    ids=[
        "of a loaded object",
        "of another object",
        "of a loaded object without a namespace",
        "of another one",
        "of an earlier object of this name",
        "of an earlier controller of this name",
        "of a controller that is gone",
        "of a controller of an unknown kind",
        "of an object of an unknown kind",
    ],
)
def test_what_derives_from_a_loaded_object(owner: Object, is_loaded: bool, expected: bool) -> None:
    cluster = server(is_loaded=is_loaded).cluster
    metadata = {"name": "p", "namespace": "default", "ownerReferences": [owner]}
    assert derives(cluster, metadata) is expected
    others = {**metadata, "ownerReferences": [reference("v1", "Pod", "x"), owner]}
    assert derives(cluster, others) is expected
    # An owner is in the namespace of its dependents.
    if owner["kind"] == "Deployment" and not owner.get("controller"):
        assert not derives(cluster, {**metadata, "namespace": "other"})


def test_an_object_without_owners_derives_from_nothing() -> None:
    assert not derives(server(is_loaded=True).cluster, {"name": "p"})


@pytest.mark.parametrize("is_loaded", [True, False])
def test_a_change_keeps_the_mark(is_loaded: bool) -> None:
    found = ApiServer()
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}}
    found.store.put("/pods", key_of("n", "p"), pod, is_loaded=is_loaded)
    changed = {"metadata": {**pod["metadata"], "annotations": {}}}
    found.store.put("/pods", key_of("n", "p"), changed, is_loaded=not is_loaded)
    assert is_loaded_pod(found.cluster, "n", "p", "u") is is_loaded


def test_a_pod_that_is_gone_counts_as_loaded() -> None:
    found = ApiServer()
    assert is_loaded_pod(found.cluster, "n", "p", "u")
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "v"}}
    found.store.put("/pods", key_of("n", "p"), pod)
    assert is_loaded_pod(found.cluster, "n", "p", "u")
    assert not is_loaded_pod(found.cluster, "n", "p", "v")
