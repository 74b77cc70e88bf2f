"""The first objects of a cluster: manifests as users write them, and as servers print them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mooring.errors import ObjectError
from tests.local.clusters import manifests, nodes_of, running

NODES = """
apiVersion: v1
kind: Node
metadata: {name: well, labels: {zone: a}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: ill}
spec: {unschedulable: true}
status: {conditions: [{type: Ready, status: "False", reason: KubeletNotReady}]}
"""


def _conditions(node: Any) -> dict[str, str]:
    return {one["type"]: one["status"] for one in node["status"]["conditions"]}


async def test_nodes_become_fake_nodes_and_stay_as_they_are_said_to_be(tmp_path: Path) -> None:
    async with running(tmp_path, objects=manifests(NODES)) as cluster:
        well, ill = [await cluster.get(f"/api/v1/nodes/{name}") for name in ("well", "ill")]
        assert _conditions(well)["Ready"] == "True"
        assert well["metadata"]["labels"]["kubernetes.io/hostname"] == "well"
        assert well["metadata"]["labels"]["zone"] == "a"
        assert well["status"]["capacity"]["cpu"] == "2"
        assert _conditions(ill)["Ready"] == "False"
        assert ill["spec"]["unschedulable"] is True
        keys = {taint["key"] for taint in ill["spec"]["taints"]}
        assert keys >= {"node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"}


async def test_what_others_need_comes_first_and_namespaces_come_by_themselves(
    tmp_path: Path,
) -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {priorityClassName: high, containers: [{name: c, image: i}]}
---
apiVersion: example.com/v1
kind: Boat
metadata: {name: b, namespace: shop}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: boats, singular: boat, kind: Boat, listKind: BoatList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
    async with running(tmp_path, objects=manifests(text)) as cluster:
        pod = await cluster.get("/api/v1/namespaces/shop/pods/a")
        assert pod["spec"]["priority"] == 7
        await cluster.get("/apis/example.com/v1/namespaces/shop/boats/b")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param(
            "apiVersion: v1\nkind: Boat\nmetadata: {name: a}",
            'cluster.yaml:1: document 1: no matches for kind "Boat" in version "v1"',
            id="a kind that is not served",
        ),
        pytest.param(
            "apiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: a}",
            'cluster.yaml:1: document 1: no matches for kind "PodGroup" in version '
            '"scheduling.sigs.k8s.io/v1alpha1": scheduler-plugins v0.25 renamed the group; write '
            "scheduling.x-k8s.io/v1alpha1",
            id="a kind whose group was renamed",
        ),
        pytest.param(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {}",
            'cluster.yaml:2: document 1: Pod "a" is invalid: spec.containers: Required value',
            id="an object that is refused",
        ),
        pytest.param(
            "---\napiVersion: v1\nkind: Pod\n"
            'metadata: {name: a, uid: u, resourceVersion: "1"}\nspec: {containers: x}',
            "cluster.yaml:2: document 1: json: cannot unmarshal string into Go struct field "
            "PodSpec.spec.containers",
            id="an object of another server with a value of another type",
        ),
    ],
)
async def test_what_is_refused_is_named_by_file_and_line(
    tmp_path: Path, text: str, error: str
) -> None:
    with pytest.raises(ObjectError) as raised:
        async with running(tmp_path, objects=manifests(text)):
            pass
    assert str(raised.value).startswith(error)
    assert not (tmp_path / "kubeconfig").exists()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("kind: Pod", "apiVersion is missing"),
        ("apiVersion: v1\nkind: Pod", "Pod: metadata.name is missing"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: [b]}",
            "metadata.namespace must be a text",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration",
            "a scheduler's configuration is no object of a cluster: use --config",
        ),
        ("[1]", "an object must be a map"),
    ],
)
def test_what_is_no_object_is_refused_before_anything_runs(text: str, error: str) -> None:
    with pytest.raises(ObjectError, match=error):
        manifests(text)


async def test_a_dump_keeps_uids_and_status_and_loses_owners_that_are_not_there(
    tmp_path: Path,
) -> None:
    text = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, uid: u1, resourceVersion: "5", creationTimestamp: "2026-01-01T00:00:00Z"}
  status:
    capacity: {cpu: "4", memory: 8Gi, pods: "10"}
    allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
    conditions:
    - {type: Ready, status: "True", reason: KubeletReady}
- apiVersion: v1
  kind: Pod
  metadata:
    name: a
    namespace: shop
    uid: u2
    resourceVersion: "6"
    ownerReferences:
    - {apiVersion: apps/v1, kind: ReplicaSet, name: gone, uid: u9, controller: true}
    - {apiVersion: v1, kind: Node, name: n1, uid: u1}
  spec: {nodeName: n1, containers: [{name: c, image: i}]}
  status: {phase: Running, podIP: 10.9.9.9}
- apiVersion: v1
  kind: Pod
  metadata: {name: b, namespace: shop, uid: u3, resourceVersion: "6"}
  spec: {schedulerName: default-scheduler, containers: [{name: c, image: i}]}
  status: {phase: Pending}
- apiVersion: v1
  kind: Pod
  metadata:
    name: c
    namespace: shop
    uid: u4
    resourceVersion: "6"
    deletionTimestamp: "2026-01-01T00:00:00Z"
  spec: {containers: [{name: c, image: i}]}
"""
    async with running(tmp_path, objects=manifests(text)) as cluster:
        path = "/api/v1/namespaces/shop/pods"
        pods = await cluster.until(path, lambda pods: nodes_of(pods) == {"a": "n1", "b": "n1"})
        first = pods["items"][0]
        assert first["metadata"]["uid"] == "u2"
        assert first["status"]["podIP"] == "10.9.9.9"
        assert [one["uid"] for one in first["metadata"]["ownerReferences"]] == ["u1"]
        node = await cluster.get("/api/v1/nodes/n1")
        assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
