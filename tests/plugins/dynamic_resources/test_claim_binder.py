"""Reserve, PreBind and Unreserve, in an in-memory cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import Pod, ResourceClaim
from mooring.api.resource import CLAIM_FINALIZER
from mooring.config.load import load_config_data
from mooring.errors import ApiError
from mooring.framework.decision import Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.releases import parse_versions
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from tests.plugins.dynamic_resources.devices import (
    GPU,
    allocated_on,
    asks_for,
    claim,
    device_slice,
    node,
    pod,
    user,
)
from tests.plugins.dynamic_resources.memory_devices import Devices, users


def _devices(one: ResourceClaim) -> list[str]:
    assert one.status.allocation is not None
    return [result.device for result in one.status.allocation.devices.results]


def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound() -> None:
    devices = Devices(claim(), device_slice("b", "d0", "d1"))
    assert devices.try_pod(pod("pod", "c")) == "b"
    written = devices.claim()
    assert written.metadata.finalizers == (CLAIM_FINALIZER,)
    assert users(written) == ["pod"]
    allocation = written.status.allocation
    assert allocation is not None and allocation.allocation_timestamp is not None
    expected = msgspec.convert(allocated_on("b")["allocation"], type(allocation))
    assert replace(allocation, allocation_timestamp=None) == expected


def test_a_device_is_given_away_once() -> None:
    devices = Devices(claim(), claim("c2"), device_slice("b", "d0"))
    assert devices.try_pod(pod("one", "c")) == "b"
    assert "2 cannot allocate all claims" in devices.try_pod(pod("two", "c2"))


def test_pods_that_share_a_claim_meet_on_its_node() -> None:
    devices = Devices(claim(), device_slice("b", "d0"))
    assert devices.try_pod(pod("one", "c")) == "b"
    assert devices.try_pod(pod("two", "c")) == "b"
    assert users(devices.claim()) == ["one", "two"]


def _two_profiles() -> dict[str, Any]:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}],
    }
    loaded = load_config_data(config, registry=default_registry(), feature_gates=FeatureGates())
    return {"config": loaded}


def test_what_one_profile_reserves_is_taken_for_all() -> None:
    devices = Devices(claim(), claim("c2"), device_slice("b", "d0"), **_two_profiles())
    first = pod("one", "c")
    devices.scheduler.cluster.add(first)
    attempt = drive(devices.scheduler.decide(first))
    assert drive(devices.scheduler.reserve(attempt))
    assert devices.claim().status.allocation is None
    other = replace(pod("two", "c2"), spec=replace(pod("two", "c2").spec, scheduler_name="other"))
    assert "2 cannot allocate all claims" in devices.try_pod(other)
    same = replace(pod("three", "c"), spec=replace(pod("three", "c").spec, scheduler_name="other"))
    assert "resource claim default/c is in the process of being allocated" in devices.try_pod(same)


def _reserved(devices: Devices, one: Pod) -> Any:
    devices.scheduler.cluster.add(one)
    attempt = drive(devices.scheduler.decide(one))
    assert drive(devices.scheduler.reserve(attempt))
    return attempt


def test_a_claim_that_changed_meanwhile_is_read_again() -> None:
    devices = Devices(claim(resourceVersion="100"), device_slice("b", "d0"))
    attempt = _reserved(devices, pod("pod", "c"))
    drive(devices.scheduler.client.update(devices.claim()))
    drive(devices.scheduler.permit_and_bind(attempt))
    assert attempt.decision.outcome is Outcome.SCHEDULED
    assert users(devices.claim()) == ["pod"]


def test_a_claim_that_somebody_else_allocated_sends_the_pod_back() -> None:
    devices = Devices(claim(resourceVersion="100"), device_slice("b", "d0", "d1"))
    attempt = _reserved(devices, pod("pod", "c"))
    devices.change(devices.claim(), **allocated_on("b", "d1"))
    drive(devices.scheduler.permit_and_bind(attempt))
    assert attempt.decision.outcome is Outcome.ERROR
    assert "claim default/c got allocated elsewhere in the meantime" in attempt.decision.message
    assert _devices(devices.claim()) == ["d1"]
    # Nothing is left in flight: the pod can be retried, and uses the existing allocation.
    assert devices.try_pod(pod("pod", "c")) == "b"


def test_an_unused_claim_on_the_wrong_node_is_given_back() -> None:
    held = claim(status={**allocated_on("b"), "reservedFor": [user("pod")]})
    devices = Devices(held, device_slice("a", "d0"), device_slice("b", "d0"))
    only_a = pod("pod", "c", nodeSelector={"kubernetes.io/hostname": "a"})
    assert "deallocation of ResourceClaim completed" in devices.try_pod(only_a)
    freed = devices.claim()
    assert (freed.status.allocation, freed.status.reserved_for) == (None, ())
    assert devices.try_pod(only_a) == "a"


def test_a_claim_that_others_use_stays_where_it_is() -> None:
    held = claim(status={**allocated_on("b"), "reservedFor": [user("other")]})
    devices = Devices(held, device_slice("a", "d0"))
    only_a = pod("pod", "c", nodeSelector={"kubernetes.io/hostname": "a"})
    assert "deallocation" not in devices.try_pod(only_a)
    assert users(devices.claim()) == ["other"]


# Node resources that devices consume.

AMOUNTS = {"nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "2"}}}}
OLDER = {"nodeAllocatableResourceMappings": {"cpu": {"allocationMultiplier": "2"}}}


def _taking(version: str = "1.37", **options: Any) -> Devices:
    """Return a cluster with a device that consumes cpu of its node."""
    gates = FeatureGates({"DRANodeAllocatableResources": True}, parse_versions([version]))
    fields = AMOUNTS if version == "1.37" else OLDER
    return Devices(claim(), device_slice("b", "d0", **fields), features=gates, **options)


def _using(name: str = "pod") -> Pod:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": "g0"}]}
    return pod(name, "c", containers=[{"name": "x", "resources": resources}])


def _told(devices: Devices, name: str = "pod") -> Any:
    found = devices.scheduler.cluster.pods.get(name, "default")
    assert found is not None
    return msgspec.to_builtins(found.status.node_allocatable_resource_claim_statuses)


def test_what_claims_consume_is_in_the_status_and_counts_on_the_node() -> None:
    devices = _taking()
    assert devices.try_pod(_using()) == "b"
    (told,) = _told(devices)
    assert told == {
        "resourceClaimName": "c",
        "containers": ("x",),
        "mapping": ({"name": "cpu", "quantity": "2"},),
    }
    info = devices.scheduler.cache.nodes.find("b")
    assert info is not None and info.requested["cpu"] == 3000


def test_in_1_36_the_status_has_one_amount() -> None:
    devices = _taking("1.36")
    assert devices.try_pod(_using()) == "b"
    (told,) = _told(devices)
    assert told["resources"] == {"cpu": "2"}
    info = devices.scheduler.cache.nodes.find("b")
    assert info is not None and info.requested["cpu"] == 3000


@pytest.mark.parametrize("version", ["1.37", "1.36"])
def test_a_pod_that_loses_its_node_consumes_nothing(version: str) -> None:
    devices = _taking(version)
    attempt = _reserved(devices, _using())

    async def refuse(*_: Any) -> None:
        raise ApiError(500, "no bind today")

    devices.scheduler.client.bind = refuse  # type: ignore[method-assign]
    drive(devices.scheduler.permit_and_bind(attempt))
    assert "no bind today" in attempt.decision.message
    assert _told(devices) == ()
    info = devices.scheduler.cache.nodes.find("b")
    assert info is not None and not info.requested


def test_a_pod_is_requeued_if_its_status_cannot_be_written() -> None:
    devices = _taking()
    attempt = _reserved(devices, _using())
    client = devices.scheduler.client
    patch = client.patch

    async def refuse(kind: Any, *more: Any, **options: Any) -> Any:
        if kind is Pod:
            raise ApiError(403, "not yours")
        return await patch(kind, *more, **options)

    client.patch = refuse  # type: ignore[method-assign]
    drive(devices.scheduler.permit_and_bind(attempt))
    text = "updating pod default/pod NodeAllocatableResourceClaimStatuses: not yours"
    assert text in attempt.decision.message


def test_the_assumed_pod_must_have_what_is_written() -> None:
    devices = _taking()
    attempt = _reserved(devices, _using())
    assert attempt.assumed is not None
    state = attempt.state.read("DynamicResources")
    state.statuses["b"] = (replace(state.statuses["b"][0], containers=()),)
    drive(devices.scheduler.permit_and_bind(attempt))
    text = "assumed pod status does not match calculated status to be patched"
    assert text in attempt.decision.message


# Extended resources.


def test_a_claim_is_made_for_extended_resources() -> None:
    devices = Devices(device_slice("b", "d0", "d1"))
    assert devices.try_pod(asks_for(GPU, 2)) == "b"
    (made,) = devices.scheduler.cluster.store(ResourceClaim).list()
    assert made.metadata.name.startswith("pod-extended-resources-")
    assert made.metadata.owner_references[0].name == "pod"
    assert (users(made), _devices(made)) == (["pod"], ["d0", "d1"])
    bound = devices.scheduler.cluster.pods.get("pod", "default")
    assert bound is not None
    told = bound.status.extended_resource_claim_status
    assert told is not None and told.resource_claim_name == made.metadata.name
    assert [(one.container_name, one.request_name) for one in told.request_mappings] == [
        ("x", "container-0-request-0")
    ]
    assert "2 cannot allocate all claims" in devices.try_pod(asks_for(GPU, name="late"))


def test_no_claim_is_made_where_the_node_offers_the_resource() -> None:
    devices = Devices(node("offers", {GPU: "1"}))
    assert devices.try_pod(asks_for(GPU)) == "offers"
    assert not list(devices.scheduler.cluster.store(ResourceClaim).list())


def test_a_special_claim_of_an_earlier_attempt_is_deleted() -> None:
    stale = claim(
        "stale",
        annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
        ownerReferences=[{"name": "pod", "uid": "default/pod", "controller": True}],
        finalizers=[CLAIM_FINALIZER],
    )
    devices = Devices(stale, device_slice("b", "d0"))
    assert "deletion of ResourceClaim completed" in devices.try_pod(asks_for(GPU))
    assert not list(devices.scheduler.cluster.store(ResourceClaim).list())
    assert devices.try_pod(asks_for(GPU)) == "b"
