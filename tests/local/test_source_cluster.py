"""Copying a cluster: what is copied, that it stays, and that the source is only read."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client import pages
from mooring.client import transport as wire
from mooring.client.client import Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.transports import make_transport
from mooring.errors import ApiError
from mooring.local.source_cluster import SourceCluster
from tests.apiserver.api_server import ADMIN, pod
from tests.apiserver.api_server import ApiServer as StoredServer
from tests.local.clusters import manifests, running
from tests.support.control_plane import ControlPlane

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, resources: {}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: shop}
stringData: {password: secret}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop, finalizers: [example.com/theirs]}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
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
---
apiVersion: example.com/v1
kind: Boat
metadata: {name: b, namespace: shop}
"""
PODS = "/api/v1/namespaces/shop/pods"


def _by_uid(found: Any) -> dict[str, str]:
    return {one["metadata"]["uid"]: one["metadata"]["name"] for one in found["items"]}


class Recording:
    """A transport that records what is sent."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner
        self.server = inner.server
        self.sent: list[tuple[str, str]] = []

    async def send(self, request: wire.Request) -> wire.Response:
        self.sent.append((request.method, request.target))
        return await self._inner.send(request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def test_a_copy_is_the_same_cluster_and_goes_on_by_itself(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    async with running(there, objects=manifests(CLUSTER)) as source:
        path = "/apis/apps/v1/namespaces/shop/deployments/web"
        await source.until(path, lambda one: one["status"].get("readyReplicas") == 2)
        pods = _by_uid(await source.get(PODS))
        before = source.cluster.server.cluster.store.version
        connection = load_kubeconfig(there / "kubeconfig")
        async with running(here, source=connection) as copy:
            assert _by_uid(await copy.get(PODS)) == pods
            assert len((await copy.get("/api/v1/nodes"))["items"]) == 2
            assert (await copy.get("/apis/scheduling.k8s.io/v1/priorityclasses/high"))["value"] == 7
            await copy.get("/apis/example.com/v1/namespaces/shop/boats/b")
            assert (await copy.get("/api/v1/namespaces/shop/secrets"))["items"] == []
            budgets = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web"
            assert "finalizers" not in (await copy.get(budgets))["metadata"]
            # Once a new pod runs, controllers and scheduler have seen everything: nothing was
            # deleted, and nothing was created twice.
            await copy.post(PODS, pod("late"))
            await copy.until(f"{PODS}/late", lambda one: one["status"]["phase"] == "Running")
            found = _by_uid(await copy.get(PODS))
            assert {uid: name for uid, name in found.items() if name != "late"} == pods
            counts = copy.cluster.copied.counts
            assert (counts["nodes"], counts["pods"], counts["boats"]) == (2, 2, 1)
        assert _by_uid(await source.get(PODS)) == pods
        # Heartbeats continue, but there were no other writes.
        changes = source.cluster.server.cluster.store.version - before
        assert changes <= 4


async def test_daemons_of_an_older_server_are_not_made_anew(tmp_path: Path) -> None:
    text = """
apiVersion: v1
kind: Node
metadata: {name: n1, uid: u1, resourceVersion: "1"}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: default, uid: u2, resourceVersion: "1", generation: 1}
spec:
  selector: {matchLabels: {app: d}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}
  revisionHistoryLimit: 10
  template: &template
    metadata: {labels: {app: d}, creationTimestamp: null}
    spec: {containers: [{name: c, image: i, resources: {}}]}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata:
  name: d-abc
  namespace: default
  uid: u3
  resourceVersion: "1"
  labels: {app: d, controller-revision-hash: abc}
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u2, controller: true}]
revision: 1
data:
  spec:
    template:
      metadata: {labels: {app: d}, creationTimestamp: null}
      spec: {containers: [{name: c, image: i, resources: {}}]}
      $patch: replace
---
apiVersion: v1
kind: Pod
metadata:
  name: d-1
  namespace: default
  uid: u4
  resourceVersion: "1"
  labels: {app: d, controller-revision-hash: abc, pod-template-generation: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u2, controller: true}]
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"""
    async with running(tmp_path, objects=manifests(text)) as cluster:
        path = "/apis/apps/v1/namespaces/default/daemonsets/d"
        await cluster.until(path, lambda one: one["status"].get("updatedNumberScheduled") == 1)
        found = await cluster.get("/api/v1/namespaces/default/pods")
        assert _by_uid(found) == {"u4": "d-1"}


async def test_the_source_is_only_read_page_by_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    target = ApiServer(ServerSettings(kubeconfig=tmp_path / "target"))
    async with running(tmp_path, nodes=5) as source:
        api = source.cluster.server.api
        transport = Recording(LocalTransport(api, RequestUser("reader", ("system:masters",))))
        copied = await SourceCluster(Client(transport)).copy_into(target.cluster)
    assert copied.counts["nodes"] == 5
    assert not copied.left_out
    assert {method for method, _ in transport.sent} == {"GET"}
    assert sum(path.startswith("/api/v1/nodes?") for _, path in transport.sent) == 3
    assert not any("secrets" in path for _, path in transport.sent)


async def test_what_may_not_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    target = ApiServer(ServerSettings(kubeconfig=tmp_path / "target"))
    async with running(tmp_path, nodes=1) as source:
        api = source.cluster.server.api
        transport = LocalTransport(api, RequestUser("system:kube-scheduler"))
        copied = await SourceCluster(Client(transport)).copy_into(target.cluster)
    assert copied.counts["nodes"] == 1
    refused = [one for one in copied.left_out if one.startswith("networkpolicies: ")]
    assert "forbidden" in refused[0]


async def test_a_real_server_can_be_copied(tmp_path: Path, control_plane: ControlPlane) -> None:
    connection = load_kubeconfig(control_plane.admin_kubeconfig)
    name = f"copied-{uuid.uuid4().hex[:8]}"
    client = Client(make_transport(connection))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    account = {"metadata": {"name": "default"}}
    space = {"metadata": {"name": name}}
    try:
        for path, obj in (
            ("/api/v1/nodes", node),
            ("/api/v1/namespaces", space),
            (f"/api/v1/namespaces/{name}/serviceaccounts", account),
            (f"/api/v1/namespaces/{name}/pods", pod("a", nodeName=name)),
        ):
            await client.request("POST", path, msgspec.json.encode(obj))
        async with running(tmp_path, source=connection) as copy:
            assert not copy.cluster.copied.left_out
            path = f"/api/v1/namespaces/{name}/pods/a"
            there = msgspec.json.decode(await client.request("GET", path))
            here = await copy.until(path, lambda one: one["status"]["phase"] == "Running")
            assert here["metadata"]["uid"] == there["metadata"]["uid"]
            assert here["spec"] == there["spec"]
            after = msgspec.json.decode(await client.request("GET", path))
            assert after == there
    finally:
        space_path = f"/api/v1/namespaces/{name}"
        # Here no kubelet and no namespace controller would delete the pod.
        pod_path = f"{space_path}/pods/a?gracePeriodSeconds=0"
        for path in (pod_path, f"/api/v1/nodes/{name}", space_path):
            await client.request("DELETE", path)
        await client.close()


class Interrupted:
    """A client that fails where a test says so."""

    def __init__(self, server: StoredServer, where: str, error: ApiError) -> None:
        self.inner = Client(LocalTransport(server.api, ADMIN))
        self.where = where
        self.error = error

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """Fail, or pass a request on."""
        if self.where in path:
            raise self.error
        return await self.inner.request(method, path, **options)


async def _with_nodes(count: int) -> StoredServer:
    server = StoredServer()
    for i in range(count):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{i}"}}
        await server.ask("POST", "/api/v1/nodes", node)
    return server


async def test_a_list_whose_pages_expire_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE", 2)
    expired = ApiError(410, "too old", reason="Expired")
    client: Any = Interrupted(await _with_nodes(5), "continue=", expired)
    target = StoredServer()
    copied = await SourceCluster(client).copy_into(target.cluster)
    assert copied.counts["nodes"] == 5
    assert target.store.count("/nodes") == 5


async def test_a_server_that_goes_away_ends_the_copy() -> None:
    client: Any = Interrupted(await _with_nodes(1), "/api/v1/nodes", ApiError(0, "gone"))
    with pytest.raises(ApiError, match="gone"):
        await SourceCluster(client).copy_into(StoredServer().cluster)
