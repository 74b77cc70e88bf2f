"""Informers against a real kube-apiserver."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mooring.api import (
    CustomResource,
    FinishedPod,
    Lease,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    decode_as,
)
from mooring.client.client import JSON_PATCH, MERGE, Client
from mooring.client.kubeconfig import load_kubeconfig
from mooring.client.resources import Resource
from mooring.client.transports import make_transport
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.reflector import NOT_ENABLED
from mooring.informers.store import EventHandler
from tests.support.cluster import Cluster
from tests.support.control_plane import ControlPlane
from tests.support.waiting import PATIENCE


def pod(name: str, namespace: str, **spec: Any) -> Pod:
    containers = [{"name": "main", "image": "image"}]
    metadata = {"name": name, "namespace": namespace}
    return decode_as({"metadata": metadata, "spec": {"containers": containers, **spec}}, Pod)


class Journal:
    """A record of the changes of a store, which can be awaited."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self._changed = asyncio.Event()
        self.handler: EventHandler[Any] = EventHandler(
            on_add=lambda obj: self._note("add", obj),
            on_update=lambda old, new: self._note("update", new),
            on_delete=lambda obj: self._note("delete", obj),
        )

    def _note(self, what: str, obj: Any) -> None:
        self.lines.append((what, obj.metadata.name))
        self._changed.set()

    async def wait_for(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    made = Client(make_transport(load_kubeconfig(cluster.plane.admin_kubeconfig)))
    yield made
    await made.close()


@pytest.mark.parametrize("watch_list", [True, False], ids=["as a stream", "as a list"])
async def test_a_store_follows_the_server(
    watch_list: bool, client: Client, cluster: Cluster
) -> None:
    space = cluster.namespace
    await client.create(pod("early", space))
    factory = InformerFactory(client, watch_list=watch_list)
    pods = factory.informer(Pod)
    nodes = factory.informer(Node)
    journal = Journal()
    for informer in (pods, nodes):
        informer.add_handler(journal.handler)
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    assert pods.store.get("early", space) is not None
    made = await client.create(Node(metadata=ObjectMeta(name="n1")))
    try:
        late = await client.create(pod("late", space))
        await client.bind(late, "n1")
        await journal.wait_for(
            lambda: getattr(pods.store.get("late", space), "spec", late.spec).node_name == "n1"
        )
        await journal.wait_for(lambda: [one.metadata.name for one in nodes.store] == ["n1"])
        finished = {"status": {"phase": "Succeeded"}}
        await client.patch(Pod, "late", space, finished, subresource="status")
        await journal.wait_for(lambda: ("delete", "late") in journal.lines)
        await client.delete(Pod, "early", space, uid=pods.store.get("early", space).metadata.uid)
        await journal.wait_for(lambda: ("delete", "early") in journal.lines)
    finally:
        await factory.close()
        await client.delete(Node, made.metadata.name)


async def test_verbs_on_one_object(client: Client, cluster: Cluster) -> None:
    space = cluster.namespace
    lease = await client.create(Lease(metadata=ObjectMeta(name="l", namespace=space)))
    with pytest.raises(ApiError) as refused:
        await client.create(Lease(metadata=ObjectMeta(name="l", namespace=space)))
    assert refused.value.is_already_exists
    held = await client.patch(Lease, "l", space, {"spec": {"holderIdentity": "me"}})
    assert held.spec.holder_identity == "me"
    with pytest.raises(ApiError) as refused:
        await client.update(lease)
    assert refused.value.is_conflict
    await client.patch(Lease, "l", space, {"metadata": {"labels": {"a": "b"}}}, patch_type=MERGE)
    test = [{"op": "replace", "path": "/metadata/labels/a", "value": "c"}]
    await client.patch(Lease, "l", space, test, patch_type=JSON_PATCH)
    found = await client.get(Lease, "l", space)
    assert found.metadata.labels == {"a": "c"}
    with pytest.raises(ApiError) as refused:
        await client.delete(Lease, "l", space, uid="another")
    assert refused.value.is_conflict
    await client.delete(Lease, "l", space)
    with pytest.raises(ApiError) as refused:
        await client.get(Lease, "l", space)
    assert refused.value.is_not_found


async def test_a_pod_is_bound_once(client: Client, cluster: Cluster) -> None:
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
    made = await client.create(pod("p", cluster.namespace))
    await client.bind(made, "n1")
    assert (await client.get(Pod, "p", cluster.namespace)).spec.node_name == "n1"
    with pytest.raises(ApiError, match="already assigned to node") as refused:
        await client.bind(made, "n1")
    assert refused.value.is_conflict and not refused.value.maybe_applied


async def test_a_pod_is_evicted(client: Client, cluster: Cluster) -> None:
    made = await client.create(pod("p", cluster.namespace))
    await client.evict(made)
    with pytest.raises(ApiError) as gone:
        await client.get(Pod, "p", cluster.namespace)
    assert gone.value.is_not_found


async def test_custom_resources_are_written_and_watched(client: Client, cluster: Cluster) -> None:
    names = {"plural": "crews", "kind": "Crew", "singular": "crew"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crews.mooring.test"},
        "spec": {
            "group": "mooring.test",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }
    cluster.create(definition)
    factory = InformerFactory(client)
    crews = factory.informer("crews.v1.mooring.test")
    journal = Journal()
    crews.add_handler(journal.handler)
    # It takes a moment until the new resource is served: the informer retries until it is.
    factory.start()
    try:
        async with asyncio.timeout(PATIENCE):
            await factory.wait_synced()
        raw = {
            "apiVersion": "mooring.test/v1",
            "kind": "Crew",
            "metadata": {"name": "one", "namespace": cluster.namespace},
            "spec": {"size": 3},
        }
        await client.create(
            CustomResource(
                api_version="mooring.test/v1",
                kind="Crew",
                metadata=ObjectMeta(name="one", namespace=cluster.namespace),
                raw=raw,
            )
        )
        await journal.wait_for(lambda: ("add", "one") in journal.lines)
        assert crews.store.get("one", cluster.namespace).get("spec.size") == 3
        found = await client.get("crews.v1.mooring.test", "one", cluster.namespace)
        assert found.get("spec.size") == 3
    finally:
        await factory.close()


async def test_an_expired_certificate_is_told_in_a_line(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    if not control_plane.owned:
        pytest.skip("the cluster is a given one")
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    kubeconfig = control_plane.kubeconfig("late", expires=yesterday)
    late = Client(make_transport(load_kubeconfig(kubeconfig)))
    try:
        with pytest.raises(ApiError, match="expired at") as refused:
            await late.list(Namespace)
        assert refused.value.is_unauthorized
        assert "\n" not in str(refused.value)
    finally:
        await late.close()


@pytest.mark.parametrize("parts", [("kube_apiserver",), ("kube_apiserver", "etcd")], ids=str)
async def test_informers_outlive_the_server(
    parts: tuple[str, ...], private_control_plane: ControlPlane
) -> None:
    plane = private_control_plane
    client = Client(make_transport(load_kubeconfig(plane.admin_kubeconfig)))
    factory = InformerFactory(client)
    namespaces = factory.informer(Namespace)
    journal = Journal()
    namespaces.add_handler(journal.handler)
    try:
        factory.start()
        async with asyncio.timeout(PATIENCE):
            await factory.wait_synced()
        for part in parts:
            getattr(plane, part).kill()
        with pytest.raises(ApiError):
            await client.list(Namespace)
        for start in (plane.start_etcd, plane.start_apiserver)[-len(parts) :]:
            start()
        await client.create(Namespace(metadata=ObjectMeta(name="after")))
        await journal.wait_for(lambda: ("add", "after") in journal.lines)
        assert journal.lines.count(("add", "default")) == 1
    finally:
        await factory.close()
        await client.close()


async def test_missing_rights_are_told_in_a_line(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    if not control_plane.owned:
        pytest.skip("the cluster is a given one")
    nobody = Client(make_transport(load_kubeconfig(control_plane.kubeconfig("nobody"))))
    try:
        with pytest.raises(ApiError) as refused:
            await nobody.list(Namespace)
        assert refused.value.is_forbidden
        assert 'User "nobody" cannot list resource "namespaces"' in str(refused.value)
        assert "\n" not in str(refused.value)
    finally:
        await nobody.close()


async def test_what_the_oldest_release_does_not_serve_is_found_out(
    oldest_control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """The scheduler's user has no rights to the kind, so a list is refused and not unknown."""
    kubeconfig = oldest_control_plane.scheduler_kubeconfig
    client = Client(make_transport(load_kubeconfig(kubeconfig)))
    newer = Resource("scheduling.k8s.io", "v1beta1", "podgroups", CustomResource, optional=True)
    factory = InformerFactory(client)
    groups, nodes = factory.informer(newer), factory.informer(Node)
    try:
        assert not await client.serves(newer)
        assert await client.serves(Node)
        with pytest.raises(ApiError) as refused:
            await client.list(newer)
        assert refused.value.is_forbidden
        factory.start()
        async with asyncio.timeout(PATIENCE):
            await factory.wait_synced()
        assert nodes.failure is None
        assert len(groups.store) == 0
        lines = [record.getMessage() for record in caplog.records]
        assert lines == [NOT_ENABLED % "podgroups.v1beta1.scheduling.k8s.io"]
    finally:
        await factory.close()
        await client.close()


async def test_pods_that_have_ended_are_a_kind_of_their_own(
    client: Client, cluster: Cluster
) -> None:
    space = cluster.namespace
    for name in ("runs", "ended"):
        await client.create(pod(name, space, nodeName="n1"))
    factory = InformerFactory(client)
    live, ended, journal = factory.informer(Pod), factory.informer(FinishedPod), Journal()
    ended.add_handler(journal.handler)
    factory.start()
    async with asyncio.timeout(PATIENCE):
        await factory.wait_synced()
    assert journal.lines == []
    status = {"status": {"phase": "Succeeded"}}
    await client.patch(Pod, "ended", space, status, subresource="status")
    await journal.wait_for(lambda: journal.lines == [("add", "ended")])
    found = ended.store.get("ended", space)
    assert isinstance(found, FinishedPod) and found.is_finished and found.node_name == "n1"
    await client.delete(Pod, "ended", space, grace_period_seconds=0)
    await journal.wait_for(lambda: journal.lines[-1] == ("delete", "ended"))
    assert [one.name for one in live.store.list(space)] == ["runs"]
    await factory.close()
