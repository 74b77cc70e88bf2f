"""The API server's part in memory: writes, conflicts, patches."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import ElasticQuota, ObjectMeta, Pod, ResourceClaim
from mooring.errors import ApiError
from mooring.virtual.driving import drive
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_node, make_pod


@pytest.fixture
def cluster() -> MemoryCluster:
    return MemoryCluster([make_node("n1"), make_pod("web")])


@pytest.fixture
def client(cluster: MemoryCluster) -> MemoryClient:
    return MemoryClient(cluster)


def patch(client: MemoryClient, patch: dict[str, Any], subresource: str = "") -> Pod:
    return drive(client.patch(Pod, "web", "default", patch, subresource=subresource))


def test_a_created_object_can_be_read_and_gets_a_version(client: MemoryClient) -> None:
    pod = make_pod("new")
    created = drive(client.create(replace(pod, metadata=replace(pod.metadata, uid=""))))
    assert created.metadata.resource_version and created.metadata.uid
    assert drive(client.get(Pod, "new", "default")) == created


def test_objects_are_listed_by_namespace(client: MemoryClient) -> None:
    assert [pod.name for pod in drive(client.list(Pod)).items] == ["web"]
    assert [pod.name for pod in drive(client.list(Pod, "default")).items] == ["web"]
    assert drive(client.list(Pod, "away")).items == []
    assert drive(client.list("nodes.v1beta1.metrics.k8s.io")).items == []


def test_binding_puts_the_pod_on_its_node(client: MemoryClient, cluster: MemoryCluster) -> None:
    drive(client.bind(make_pod("web"), "n1"))
    bound = cluster.pods.get("web", "default")
    assert bound is not None and bound.spec.node_name == "n1"


def test_deleting_takes_the_pod_off_its_node(client: MemoryClient, cluster: MemoryCluster) -> None:
    drive(client.bind(make_pod("web"), "n1"))
    drive(client.delete(Pod, "web", "default", uid="web"))
    assert cluster.pods.get("web", "default") is None


def test_the_scheduler_follows_what_its_client_writes() -> None:
    scheduler = MemoryScheduler([make_node("n1"), make_pod("web")])
    drive(scheduler.client.bind(make_pod("web"), "n1"))
    drive(scheduler.settle())
    node = scheduler.cache.nodes.find("n1")
    assert node is not None and list(node.pods) == ["web"]
    drive(scheduler.client.delete(Pod, "web", "default", uid="web"))
    drive(scheduler.settle())
    assert not scheduler.cache.pods


def test_a_patch_merges_maps_replaces_values_and_removes_nulls(client: MemoryClient) -> None:
    patch(client, {"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"priority": 7}})
    patched = patch(client, {"metadata": {"labels": {"a": None, "c": "3"}}})
    assert patched.metadata.labels == {"b": "2", "c": "3"}
    assert patched.spec.priority == 7


def test_conditions_merge_by_type(client: MemoryClient) -> None:
    for condition in (
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        {"type": "DisruptionTarget", "status": "True"},
        {"type": "PodScheduled", "status": "True"},
    ):
        patched = patch(client, {"status": {"conditions": [condition]}}, "status")
    # A patch without $setElementOrder puts its own conditions first.
    assert [(one.type, one.status) for one in patched.status.conditions] == [
        ("DisruptionTarget", "True"),
        ("PodScheduled", "True"),
    ]


def test_the_order_of_a_list_is_no_field(client: MemoryClient) -> None:
    order = {"$setElementOrder/conditions": [{"type": "Ready"}]}
    patched = patch(client, {"status": {"conditions": [], **order}}, "status")
    assert patched.status.conditions == ()


def test_a_patch_of_a_subresource_changes_nothing_else(client: MemoryClient) -> None:
    changes = {"spec": {"priority": 7}, "status": {"phase": "Running"}}
    patched = patch(client, changes, "status")
    assert (patched.spec.priority, patched.status.phase) == (0, "Running")


@pytest.mark.parametrize(
    ("call", "status", "reason"),
    [
        pytest.param(lambda c: c.get(Pod, "gone", "default"), 404, "NotFound", id="get"),
        pytest.param(lambda c: c.delete(Pod, "gone", "default"), 404, "NotFound", id="delete"),
        pytest.param(lambda c: c.patch(Pod, "gone", "x", {}), 404, "NotFound", id="patch"),
        pytest.param(lambda c: c.bind(make_pod("gone"), "n1"), 404, "NotFound", id="bind"),
        pytest.param(lambda c: c.create(make_pod("web")), 409, "AlreadyExists", id="create twice"),
        pytest.param(
            lambda c: c.delete(Pod, "web", "default", uid="other"), 409, "Conflict", id="other uid"
        ),
        pytest.param(
            lambda c: c.patch(Pod, "web", "default", {"metadata": {"resourceVersion": "old"}}),
            409,
            "Conflict",
            id="patch of an old version",
        ),
    ],
)
def test_a_refusal(client: MemoryClient, call: Any, status: int, reason: str) -> None:
    with pytest.raises(ApiError) as refused:
        drive(call(client))
    assert (refused.value.status, refused.value.reason) == (status, reason)


def test_an_update_needs_the_latest_version(client: MemoryClient) -> None:
    first = drive(client.update(make_pod("web")))
    drive(client.update(replace(first, status=replace(first.status, phase="Running"))))
    with pytest.raises(ApiError, match="the object has been modified"):
        drive(client.update(first))


def test_versions_grow_from_those_of_the_objects(
    client: MemoryClient, cluster: MemoryCluster
) -> None:
    pod = make_pod("old")
    cluster.add(replace(pod, metadata=replace(pod.metadata, resource_version="98")))
    first = drive(client.patch(Pod, "old", "default", {"spec": {"priority": 1}}))
    assert first.metadata.resource_version == "99"
    assert patch(client, {"spec": {"priority": 1}}).metadata.resource_version == "100"


def test_a_pod_is_bound_once(client: MemoryClient) -> None:
    drive(client.bind(make_pod("web"), "n1"))
    with pytest.raises(ApiError, match="pod web is already assigned to node"):
        drive(client.bind(make_pod("web"), "n1"))


def test_a_custom_resource_is_not_patched(client: MemoryClient, cluster: MemoryCluster) -> None:
    cluster.add(ElasticQuota(metadata=ObjectMeta(name="q", namespace="x")))
    with pytest.raises(ApiError, match="415 UnsupportedMediaType"):
        drive(client.patch(ElasticQuota, "q", "x", {"spec": {"max": {"cpu": "1"}}}))


def test_lists_without_a_merge_key_are_replaced(client: MemoryClient) -> None:
    for key in ("a", "b"):
        changed = patch(client, {"spec": {"tolerations": [{"key": key}]}})
    assert [one.key for one in changed.spec.tolerations] == ["b"]
    for name in ("a", "b"):
        changed = patch(client, {"spec": {"schedulingGates": [{"name": name}]}})
    assert {one.name for one in changed.spec.scheduling_gates} == {"a", "b"}


def test_a_claims_users_merge_by_uid_and_its_finalizers_as_a_set(
    client: MemoryClient, cluster: MemoryCluster
) -> None:
    cluster.add(ResourceClaim(metadata=ObjectMeta(name="c", namespace="x", finalizers=("mine",))))

    def change(changes: dict[str, Any], subresource: str = "") -> ResourceClaim:
        return drive(client.patch(ResourceClaim, "c", "x", changes, subresource=subresource))

    users = [{"resource": "pods", "name": name, "uid": name} for name in ("a", "b")]
    for user in users:
        changed = change({"status": {"reservedFor": [user]}}, "status")
    assert [user.uid for user in changed.status.reserved_for] == ["b", "a"]
    gone = {"$patch": "delete", "uid": "a"}
    changed = change({"status": {"reservedFor": [gone]}}, "status")
    assert [user.uid for user in changed.status.reserved_for] == ["b"]
    changed = change({"metadata": {"finalizers": ["other"]}})
    assert changed.metadata.finalizers == ("other", "mine")
    changed = change({"metadata": {"$deleteFromPrimitiveList/finalizers": ["other"]}})
    assert changed.metadata.finalizers == ("mine",)


def test_an_object_without_a_name_gets_one(client: MemoryClient) -> None:
    made = [
        drive(client.create(ResourceClaim(metadata=ObjectMeta(generate_name="c-", namespace="x"))))
        for _ in range(2)
    ]
    assert all(one.metadata.name.startswith("c-") and one.metadata.uid for one in made)
    assert made[0].metadata.name != made[1].metadata.name
