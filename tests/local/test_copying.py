from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.schema.canonical import DecodeError
from mooring.local.copying import drop_lost_owners, is_dumped, keep
from tests.apiserver.api_server import GROUP_GATES, ApiServer

Object = dict[str, Any]


def _object(name: str = "x", **more: Any) -> Object:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "9"}
    return {"metadata": metadata | more.pop("metadata", {}), **more}


def kept(path: str, obj: Object, server: ApiServer | None = None) -> Object | None:
    """Return an object as it is stored, or None if it is not."""
    server = ApiServer() if server is None else server
    served = server.served(path)
    if not keep(server.cluster, served, obj):
        return None
    namespace = obj["metadata"].get("namespace", "") if served.namespaced else ""
    return server.cluster.lookup(served.store, namespace, obj["metadata"]["name"])


@pytest.mark.parametrize(
    ("metadata", "dumped"),
    [({"resourceVersion": "1", "uid": "u"}, True), ({"uid": "u"}, False), ({}, False)],
)
def test_objects_that_were_read_from_a_server(metadata: Object, dumped: bool) -> None:
    assert is_dumped({"metadata": metadata}) is dumped


def test_identity_and_status_stay() -> None:
    found = kept("/v1/pods", _object(spec={"nodeName": "n"}, status={"phase": "Running"}))
    assert found is not None
    assert found["metadata"]["uid"] == "uid-x"
    assert found["status"]["phase"] == "Running"
    assert (found["kind"], found["apiVersion"]) == ("Pod", "v1")


def test_what_is_deleted_or_exists_is_left_out() -> None:
    gone = _object(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert kept("/v1/configmaps", gone) is None
    server = ApiServer()
    assert kept("/v1/configmaps", _object(data={"a": "1"}), server) is not None
    assert kept("/v1/configmaps", _object(data={"a": "2"}), server) is None
    found = server.cluster.lookup("/configmaps", "default", "x")
    assert found is not None and found["data"] == {"a": "1"}


@pytest.mark.parametrize(
    ("path", "obj", "why"),
    [
        ("/v1/pods", _object(spec=3), "cannot unmarshal number"),
        ("/v1/pods", _object(spec={"containers": "x"}), "PodSpec.spec.containers"),
        ("/v1/pods", _object(spec={"overhead": {"cpu": "much"}}), "quantities must match"),
        ("/v1/pods", _object(status={"startTime": "now"}), "parsing time"),
        ("/v1/pods", {"metadata": []}, "ObjectMeta"),
        ("/v1/pods", {}, "metadata.name is missing"),
        ("/v1/nodes", _object(spec=[]), "NodeSpec"),
        ("/v1/pods", _object(metadata={"ownerReferences": ["x"]}), "OwnerReference"),
        ("/v1/pods", _object(metadata={"finalizers": [[]]}), "finalizers"),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_refused(path: str, obj: Object, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        kept(path, obj)


def test_a_definition_without_content_is_not_served() -> None:
    definition = {"metadata": _object()["metadata"] | {"namespace": ""}, "spec": None}
    path = "apiextensions.k8s.io/v1/customresourcedefinitions"
    assert kept(path, definition) is not None


def test_finalizers_that_nobody_removes_here_go() -> None:
    names = ["kubernetes.io/pvc-protection", "external.io/x"]
    claim = _object(metadata={"finalizers": names}, spec={})
    found = kept("/v1/persistentvolumeclaims", claim)
    assert found is not None
    assert found["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    protection = ["scheduling.k8s.io/podgroup-protection"]
    group = _object(metadata={"finalizers": protection}, spec={})
    grouped = ApiServer(features=GROUP_GATES)
    found = kept("scheduling.k8s.io/v1beta1/podgroups", group, grouped)
    assert found is not None and found["metadata"]["finalizers"] == protection
    other = kept("/v1/configmaps", _object(metadata={"finalizers": ["external.io/x"]}))
    assert other is not None and "finalizers" not in other["metadata"]


def test_nodes_become_fake() -> None:
    found = kept("/v1/nodes", _object(metadata={"namespace": ""}, spec={}, status={}))
    assert found is not None
    assert found["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"


def test_nulls_of_revisions_go() -> None:
    data = {"spec": {"a": None, "list": [{"b": None, "c": 1}]}}
    found = kept("apps/v1/controllerrevisions", _object(data=data, revision=1))
    assert found is not None
    assert found["data"] == {"spec": {"list": [{"c": 1}]}}


def test_a_definition_is_served_without_its_webhook() -> None:
    server = ApiServer()
    version = {"name": "v1", "served": True, "storage": True}
    version |= {"schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    definition = _object(
        "things.a.io",
        metadata={"namespace": ""},
        spec={
            "group": "a.io",
            "scope": "Cluster",
            "names": names,
            "versions": [version],
            "conversion": {"strategy": "Webhook", "webhook": {}},
        },
        status={
            "acceptedNames": names,
            "storedVersions": ["v1"],
            "conditions": [{"type": "Established", "status": "True"}],
        },
    )
    found = kept("apiextensions.k8s.io/v1/customresourcedefinitions", definition, server)
    assert found is not None
    assert found["spec"]["conversion"] == {"strategy": "None"}
    thing = kept("a.io/v1/things", _object("t", metadata={"namespace": ""}, size=3), server)
    assert thing is not None and thing["size"] == 3


def test_owners_that_do_not_exist_are_dropped() -> None:
    server = ApiServer()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "uid-r"}
    lost = owner | {"name": "gone", "uid": "uid-gone"}
    kept("apps/v1/replicasets", _object("r", spec={}), server)
    kept("/v1/pods", _object("a", metadata={"ownerReferences": [owner, lost]}, spec={}), server)
    kept("/v1/pods", _object("b", metadata={"ownerReferences": [lost]}, spec={}), server)
    kept("/v1/pods", _object("c", metadata={"ownerReferences": [owner]}, spec={}), server)
    before = server.store.get("/pods", "default/c")
    drop_lost_owners(server.cluster)

    def owners(name: str) -> list[str]:
        found = server.cluster.lookup("/pods", "default", name)
        assert found is not None
        return [one["uid"] for one in found["metadata"].get("ownerReferences", ())]

    assert [owners(name) for name in "abc"] == [["uid-r"], [], ["uid-r"]]
    assert server.store.get("/pods", "default/c") is before
