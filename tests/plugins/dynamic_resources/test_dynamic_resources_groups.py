"""Claims that the pods of a group share, and claims that are the group's own."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import ResourceClaim, ResourceClaimTemplate, WorkloadPodGroup
from mooring.framework.features import FeatureGates
from mooring.informers.store import EventHandler
from mooring.testing import make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.simulation import schedule_all
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import allocated_on, claim, device_slice
from tests.plugins.dynamic_resources.memory_devices import Devices, users

SHARED = FeatureGates({"GenericWorkload": True})
OF_GROUPS = FeatureGates({"GenericWorkload": True, "DRAWorkloadResourceClaims": True})
NAMED = {"name": "gpu", "resourceClaimName": "c"}
MADE = {"name": "gpu", "resourceClaimTemplateName": "t"}
TEMPLATE = make(
    ResourceClaimTemplate,
    "t",
    "default",
    spec={
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    },
)


def gang(count: int, entry: dict[str, str], *claims: dict[str, str], cpu: int = 1) -> list[Any]:
    """Return a gang whose pods have a claim, and which has claims of its own."""
    group = make_pod_group(
        "g", min_count=count, metadata={"uid": "default/g"}, spec={"resourceClaims": list(claims)}
    )
    spec = {"resourceClaims": [entry]}
    pods = [make_pod(f"g-{i}", group="g", cpu=cpu, spec=spec) for i in range(count)]
    return [group, *pods]


def schedule(devices: Devices) -> list[str]:
    """Schedule everything; return the nodes of the pods that have one."""
    drive(schedule_all(devices.scheduler))
    return [one.spec.node_name for one in devices.scheduler.cluster.pods if one.spec.node_name]


def changes(devices: Devices, kind: type[Any]) -> list[Any]:
    """Return a list to which every changed object of a kind is added from now on."""
    found: list[Any] = []
    handler: EventHandler[Any] = EventHandler(on_update=lambda _, new: found.append(new))
    devices.scheduler.cluster.store(kind).add_handler(handler)
    return found


def test_pods_of_a_gang_share_a_claim_that_one_of_them_has_just_allocated() -> None:
    devices = Devices(claim(), device_slice("b", "d0"), *gang(3, NAMED), features=SHARED)
    assert schedule(devices) == ["b"] * 3
    assert sorted(users(devices.claim())) == ["g-0", "g-1", "g-2"]


def test_a_gang_whose_claim_is_on_a_node_without_room_for_all_gets_nothing() -> None:
    devices = Devices(claim(), device_slice("b", "d0"), *gang(3, NAMED, cpu=2), features=SHARED)
    assert schedule(devices) == []
    assert (users(devices.claim()), devices.claim().status.allocation) == ([], None)


MAPPED = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
OVERHEAD = {"cpu": {"overhead": {"perPod": "500m"}}}


@pytest.mark.parametrize(
    ("amounts", "nodes", "cpu"),
    [
        pytest.param(MAPPED, [], 0, id="a mapped device belongs to one pod"),
        pytest.param(OVERHEAD, ["b", "b"], 3000, id="each pod has its overhead"),
    ],
)
def test_pods_of_a_gang_share_a_claim_that_consumes_node_resources(
    amounts: dict[str, Any], nodes: list[str], cpu: int
) -> None:
    gates = FeatureGates({"GenericWorkload": True, "DRANodeAllocatableResources": True})
    taking = device_slice("b", "d0", nodeAllocatableResources=amounts)
    devices = Devices(claim(), taking, *gang(2, NAMED), features=gates)
    assert schedule(devices) == nodes
    info = devices.scheduler.cache.nodes.find("b")
    assert info is not None and info.requested.get("cpu", 0) == cpu


@pytest.mark.parametrize("entry", [NAMED, MADE], ids=["a claim by name", "one of a template"])
def test_a_claim_of_the_group_is_reserved_for_the_group_alone(entry: dict[str, str]) -> None:
    objects = [claim(), TEMPLATE, device_slice("b", "d0"), *gang(3, entry, entry)]
    devices = Devices(*objects, features=OF_GROUPS)
    assert schedule(devices) == ["b"] * 3
    (reserved,) = devices.claim("c" if entry is NAMED else "g-gpu").status.reserved_for
    assert (reserved.api_group, reserved.resource, reserved.name) == (
        "scheduling.k8s.io",
        "podgroups",
        "g",
    )


def test_a_claim_that_only_the_pods_have_is_not_the_group_s() -> None:
    other = {"name": "gpu", "resourceClaimName": "other"}
    objects = [claim(), device_slice("b", "d0"), *gang(2, NAMED, other)]
    devices = Devices(*objects, features=OF_GROUPS)
    assert schedule(devices) == ["b"] * 2
    assert sorted(users(devices.claim())) == ["g-0", "g-1"]


@pytest.mark.parametrize(
    ("gates", "nodes"), [(SHARED, []), (OF_GROUPS, ["b"])], ids=["gate off", "gate on"]
)
def test_a_claim_that_was_made_for_the_group(gates: FeatureGates, nodes: list[str]) -> None:
    owner = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": "g", "uid": "u"}
    made = claim("made", ownerReferences=[{**owner, "controller": True}])
    group = make_pod_group("g", min_count=1, spec={"resourceClaims": [MADE]})
    told = [{"name": "gpu", "resourceClaimName": "made"}]
    spec, status = {"resourceClaims": [MADE]}, {"resourceClaimStatuses": told}
    one = make_pod("g-0", group="g", spec=spec, status=status)
    devices = Devices(made, device_slice("b", "d0"), group, one, features=gates)
    assert schedule(devices) == nodes


def group_user() -> dict[str, str]:
    return {
        "apiGroup": "scheduling.k8s.io",
        "resource": "podgroups",
        "name": "g",
        "uid": "default/g",
    }


def test_a_claim_of_a_group_that_cannot_be_used_is_deallocated() -> None:
    status = {**allocated_on("gone"), "reservedFor": [group_user()]}
    objects = [claim(status=status), device_slice("b", "d0"), *gang(2, NAMED, NAMED)]
    devices = Devices(*objects, features=OF_GROUPS)
    claims = changes(devices, ResourceClaim)
    # The change of the claim causes the next attempt, which allocates it again.
    assert schedule(devices) == ["b"] * 2
    assert (users(claims[0]), claims[0].status.allocation) == ([], None)
    assert users(devices.claim()) == ["g"]


def test_a_claim_that_a_pod_gave_up_is_not_deallocated_again_for_pods_that_were_not_tried() -> None:
    # Without a pod of lower priority, the answer of preemption would be the only one to be shown.
    low = make_pod("low", node="b", priority=-1)
    unusable = claim(status=allocated_on("gone"))
    objects = [unusable, low, device_slice("b", "d0"), *gang(3, NAMED, NAMED)]
    devices = Devices(*objects, features=OF_GROUPS)
    claims, groups = changes(devices, ResourceClaim), changes(devices, WorkloadPodGroup)
    assert schedule(devices) == ["b"] * 4
    allocations = [one.status.allocation is not None for one in claims]
    assert allocations == sorted(allocations)
    assert groups[0].status.conditions[0].message == (
        "minCount (3) cannot be satisfied: 0 scheduled, 2 remaining, "
        "deallocation and deletion of ResourceClaims completed, "
        "pod group preemption: minCount (3) cannot be satisfied: 0 scheduled, 2 remaining"
    )


def test_a_claim_is_given_up_by_a_group_that_does_not_fit_where_it_is() -> None:
    status = {**allocated_on("b"), "reservedFor": [group_user()]}
    objects = [claim(status=status), device_slice("b", "d0"), *gang(3, NAMED, NAMED, cpu=2)]
    devices = Devices(*objects, features=OF_GROUPS)
    assert schedule(devices) == []
    assert users(devices.claim()) == []


def test_late_pods_use_the_claim_that_the_group_has() -> None:
    status = {**allocated_on("b"), "reservedFor": [group_user()]}
    placed = replace(make_pod("old", group="g", node="b"), status=make_pod("x").status)
    objects = [claim(status=status), device_slice("b", "d0"), placed, *gang(1, NAMED, NAMED)]
    devices = Devices(*objects, features=OF_GROUPS)
    assert schedule(devices) == ["b"] * 2
    assert users(devices.claim()) == ["g"]
