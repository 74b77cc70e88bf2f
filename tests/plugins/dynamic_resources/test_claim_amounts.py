"""The node resources that the devices of claims consume."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.api.pod_resource_requests import RequestOptions
from mooring.api.resource import Device
from mooring.plugins.dynamic_resources.claim_amounts import (
    CONTAINER_LIMIT_TOO_SMALL,
    LIMIT_TOO_SMALL,
    REQUEST_TOO_SMALL,
    AmountError,
    HeldDevice,
    HeldDevices,
    claim_statuses,
    consumes_node_resources,
    insufficient_pod_resources,
    is_mapped,
)
from tests.plugins.dynamic_resources.devices import claim, pod

PAGES = "hugepages-2Mi"


def device(**resources: Any) -> Device:
    """Build a device that consumes some of its node's resources."""
    return msgspec.convert({"name": "d", "nodeAllocatableResources": resources}, Device)


def older(**resources: Any) -> Device:
    """Build a device with the fields of 1.36."""
    return msgspec.convert({"name": "d", "nodeAllocatableResourceMappings": resources}, Device)


def statuses(*devices: Device, use: Pod | None = None, **options: Any) -> list[dict[str, Any]]:
    """Return what the devices of a claim consume, in the form of the pod's status."""
    consumed = options.pop("consumed", {})
    held = HeldDevices(claim("mine"), [HeldDevice(one.name, one, consumed) for one in devices])
    found = claim_statuses(use or pod("p", "mine"), [held], {"g0": "uid-mine"}, **options)
    decoded: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(found))
    return decoded


CORES = {"mapping": {"capacityKey": "cores", "capacityMultiplier": "1500m"}}
TAKEN: dict[str, tuple[list[Device], dict[str, str], dict[str, Any]]] = {
    "an amount for each device": (
        [device(cpu={"mapping": {"deviceMultiplier": "1.5"}})] * 2,
        {},
        {"mapping": [{"name": "cpu", "quantity": "3"}]},
    ),
    "an amount for each unit of capacity": (
        [device(cpu=CORES)],
        {"cores": "3"},
        {"mapping": [{"name": "cpu", "quantity": "4500m"}]},
    ),
    "binary units stay binary": (
        [device(memory={"mapping": {"capacityKey": "m", "capacityMultiplier": "2"}})],
        {"m": "3Gi"},
        {"mapping": [{"name": "memory", "quantity": "6Gi"}]},
    ),
    "a billionth is rounded up": (
        [device(cpu={"mapping": {"capacityKey": "m", "capacityMultiplier": "1n"}})],
        {"m": "500m"},
        {"mapping": [{"name": "cpu", "quantity": "1n"}]},
    ),
    "overhead is summed by kind": (
        [
            device(memory={"overhead": {"perPod": "1Gi", "perContainer": "64Mi"}}),
            device(memory={"overhead": {"perPod": "1Gi"}}, cpu={"overhead": {"perPod": "0"}}),
        ],
        {},
        {
            "overhead": [
                {"name": "cpu", "perPod": "0"},
                {"name": "memory", "perPod": "2Gi", "perContainer": "64Mi"},
            ]
        },
    ),
    "resources are sorted by name": (
        [device(memory={"mapping": {"deviceMultiplier": "1"}}, cpu=CORES)],
        {"cores": "2"},
        {"mapping": [{"name": "cpu", "quantity": "3"}, {"name": "memory", "quantity": "1"}]},
    ),
}


@pytest.mark.parametrize(("devices", "consumed", "expected"), TAKEN.values(), ids=TAKEN)
def test_a_claim_consumes(
    devices: list[Device], consumed: dict[str, str], expected: dict[str, Any]
) -> None:
    assert statuses(*devices, consumed=consumed) == [{"resourceClaimName": "mine", **expected}]


def test_a_capacity_that_was_not_requested_consumes_nothing() -> None:
    assert statuses(device(cpu=CORES), consumed={"other": "1"}) == []
    assert statuses(device(cpu={"mapping": {}}, memory={"overhead": {}})) == []


def test_a_capacity_must_be_consumed() -> None:
    text = (
        "claim default/mine, device d: ConsumedCapacity is nil, but Capacity key 'cores' is set "
        "in NodeAllocatableResources for resource cpu"
    )
    with pytest.raises(AmountError, match=text):
        statuses(device(cpu=CORES))
    factor = {"capacityKey": "cores", "allocationMultiplier": "2"}
    with pytest.raises(AmountError, match="is set in NodeAllocatableResourceMappings for"):
        statuses(older(cpu=factor), older=True)


def test_the_devices_of_1_36_consume_one_amount() -> None:
    key = {"capacityKey": "cores", "allocationMultiplier": "2"}
    devices = [
        older(cpu=key, memory={"allocationMultiplier": "1Gi"}, pages={}),
        older(cpu={"allocationMultiplier": "500m"}, gone={"capacityKey": "gone"}),
    ]
    (found,) = statuses(*devices, consumed={"cores": "3"}, older=True)
    assert found["resources"] == {"cpu": "6500m", "memory": "1Gi", "pages": "0"}
    assert statuses(device(cpu=CORES), older=True) == []


def test_containers_that_use_a_claim_are_listed_init_containers_first() -> None:
    uses = {"resources": {"claims": [{"name": "g0"}]}}
    use = pod(
        "p",
        "mine",
        containers=[{"name": "a", **uses}, {"name": "b"}, {"name": "c", **uses}],
        initContainers=[{"name": "i", **uses}],
    )
    (found,) = statuses(device(cpu={"mapping": {"deviceMultiplier": "1"}}), use=use)
    assert found["containers"] == ["i", "a", "c"]


def test_claims_are_sorted_by_name() -> None:
    one = device(cpu={"mapping": {"deviceMultiplier": "1"}})
    held = [HeldDevices(claim(name), [HeldDevice("d", one, {})]) for name in ("b", "a")]
    found = claim_statuses(pod("p", "b", "a"), held, {})
    assert [status.resource_claim_name for status in found] == ["a", "b"]


def test_only_a_mapping_makes_a_device_a_resource_of_its_node() -> None:
    gpu = device(memory={"overhead": {"perPod": "1Gi"}})
    core = device(cpu={"mapping": {"deviceMultiplier": "1"}})
    assert (consumes_node_resources(gpu), is_mapped(gpu)) == (True, False)
    assert (consumes_node_resources(core), is_mapped(core)) == (True, True)
    assert not consumes_node_resources(core, older=True)
    assert consumes_node_resources(older(cpu={}), older=True)


OPTIONS = RequestOptions(use_status_resources=False, use_claim_status=True)


def whole(
    requests: dict[str, str],
    limits: dict[str, str] | None = None,
    own: dict[str, str] | None = None,
) -> Pod:
    """Build a pod with pod-level resources, whose claim consumes 2 cpu and 64Mi of huge pages."""
    resources = {"requests": {"cpu": "1"}, "limits": own or {}}
    made = pod(
        "p",
        "mine",
        containers=[{"name": "x", "resources": resources}],
        resources={"requests": requests, "limits": limits or {}},
    )
    mapping = [{"name": "cpu", "quantity": "2"}, {"name": PAGES, "quantity": "64Mi"}]
    status = {"resourceClaimName": "mine", "containers": ["x"], "mapping": mapping}
    pod_status = msgspec.convert(
        {"nodeAllocatableResourceClaimStatuses": [status]}, type(made.status)
    )
    return replace(made, status=pod_status)


SMALL: dict[str, tuple[Pod, str]] = {
    "requests that cover the claim": (whole({"cpu": "3"}), ""),
    "requests that do not cover the claim": (
        whole({"cpu": "2999m"}),
        REQUEST_TOO_SMALL.format("cpu"),
    ),
    "requests of something else": (whole({"memory": "1"}), ""),
    "a limit that covers a container": (whole({}, {"cpu": "4"}, own={"cpu": "2"}), ""),
    "a limit that does not cover a container": (
        whole({}, {"cpu": "3"}, own={"cpu": "2"}),
        CONTAINER_LIMIT_TOO_SMALL.format("cpu", "x"),
    ),
    "a limit for a resource without a limit of the container": (whole({}, {"cpu": "1"}), ""),
    "huge pages of claims count without a limit of the container": (
        whole({}, {PAGES: "63Mi"}),
        LIMIT_TOO_SMALL.format(PAGES),
    ),
    "huge pages in addition to those of the container": (
        whole({}, {PAGES: "128Mi"}, own={PAGES: "64Mi"}),
        "",
    ),
}


@pytest.mark.parametrize(("given", "expected"), SMALL.values(), ids=SMALL)
def test_pod_level_resources_must_cover_the_claims(given: Pod, expected: str) -> None:
    assert insufficient_pod_resources(given, OPTIONS) == expected


def test_pod_level_resources_do_not_count_without_their_gate() -> None:
    given = whole({"cpu": "1"}, {"cpu": "1"}, own={"cpu": "1"})
    assert insufficient_pod_resources(given, replace(OPTIONS, skip_pod_level_resources=True)) == ""
    assert insufficient_pod_resources(pod("p", "mine"), OPTIONS) == ""


def test_1_36_compares_only_requests() -> None:
    given = whole({}, {"cpu": "1"}, own={"cpu": "1"})
    assert insufficient_pod_resources(given, replace(OPTIONS, by_container=True)) == ""
