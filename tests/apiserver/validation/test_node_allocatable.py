"""Checks of node resources that devices consume; tests/kubectl_tables compares the texts."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.node_allocatable import (
    NEGATIVE,
    NO_AMOUNT,
    NO_OVERHEAD,
    NOT_A_CLAIM,
    NOT_A_RESOURCE,
    NOT_POSITIVE,
)
from tests.apiserver.validation.objects import (
    Object,
    container,
    pod,
    refused,
    update_refusals,
)

V1 = "resource.k8s.io/v1"
PATH = "spec.devices[0].nodeAllocatableResources"
CPU = f"{PATH}[cpu]"
STATUSES = "status.nodeAllocatableResourceClaimStatuses"
ONE_OF = "`capacityKey`, `deviceMultiplier`"


def cpu(**amounts: Any) -> Object:
    return {"cpu": amounts}


def mapped(**mapping: Any) -> Object:
    return cpu(mapping=mapping)


DEVICES: dict[str, tuple[Object, list[str]]] = {
    "an amount per device": (mapped(deviceMultiplier="1"), []),
    "an amount per unit of capacity": (mapped(capacityKey="k", capacityMultiplier="1"), []),
    "an overhead of nothing": (cpu(overhead={"perPod": "0"}), []),
    "huge pages": ({"hugepages-1Gi": {"overhead": {"perContainer": "1Gi"}}}, []),
    "a resource that devices cannot take": (
        {"ephemeral-storage": {"overhead": {"perPod": "1"}}},
        [f'{PATH}[ephemeral-storage]: Invalid value: "ephemeral-storage": {NOT_A_RESOURCE}'],
    ),
    "neither mapping nor overhead": (cpu(), [f"{CPU}: Required value: {NO_AMOUNT}"]),
    "no overhead": (
        cpu(overhead={}),
        [f'{CPU}.overhead: Invalid value: "": {NO_OVERHEAD}'],
    ),
    "a negative overhead": (
        cpu(overhead={"perPod": "-1", "perContainer": "-1"}),
        [
            f'{CPU}.overhead.perPod: Invalid value: "-1": {NEGATIVE}',
            f'{CPU}.overhead.perContainer: Invalid value: "-1": {NEGATIVE}',
        ],
    ),
    "a mapping to nothing": (
        mapped(),
        [f'{CPU}.mapping: Invalid value: "": must specify one of: {ONE_OF}'],
    ),
    "two mappings": (
        mapped(capacityKey="k", capacityMultiplier="1", deviceMultiplier="1"),
        [
            f'{CPU}.mapping: Invalid value: "{{capacityKey, deviceMultiplier}}": '
            f"must specify exactly one of: {ONE_OF}"
        ],
    ),
    "amounts that are not positive": (
        mapped(capacityKey="k", capacityMultiplier="0"),
        [f'{CPU}.mapping.capacityMultiplier: Invalid value: "0": {NOT_POSITIVE}'],
    ),
    "a device that is nothing": (
        mapped(deviceMultiplier="0"),
        [f'{CPU}.mapping.deviceMultiplier: Invalid value: "0": {NOT_POSITIVE}'],
    ),
    "a capacity that the device does not have": (
        mapped(capacityKey="z", capacityMultiplier="1"),
        [f'{CPU}.mapping.capacityKey: Not found: "z"'],
    ),
    "a capacity without a name": (
        mapped(capacityKey="", capacityMultiplier="1"),
        [f'{CPU}.mapping.capacityKey: Invalid value: "": capacityKey must not be an empty string'],
    ),
    "a capacity without a multiplier": (
        mapped(capacityKey="k"),
        [
            f"{CPU}.mapping.capacityMultiplier: Required value: capacityMultiplier is required "
            "when capacityKey is set"
        ],
    ),
    "a multiplier without a capacity": (
        mapped(capacityMultiplier="1", deviceMultiplier="1"),
        [
            f"{CPU}.mapping.capacityKey: Required value: capacityKey is required when "
            "capacityMultiplier is set"
        ],
    ),
}


@pytest.mark.parametrize(("resources", "expected"), DEVICES.values(), ids=DEVICES)
def test_devices(resources: Object, expected: list[str]) -> None:
    device = {
        "name": "d",
        "capacity": {"k": {"value": "1"}},
        "nodeAllocatableResources": resources,
    }
    spec = {
        "driver": "d.io",
        "nodeName": "n",
        "pool": {"name": "p", "resourceSliceCount": 1, "generation": 1},
        "devices": [device],
    }
    assert refused(V1, "ResourceSlice", spec=spec) == expected


def status(**more: Any) -> Object:
    return {"resourceClaimName": "mine", **more}


TOLD: dict[str, tuple[list[Object], list[str]]] = {
    "amounts of claims": (
        [
            status(containers=["c"], mapping=[{"name": "cpu", "quantity": "1"}]),
            {"resourceClaimName": "made", "overhead": [{"name": "memory", "perPod": "1"}]},
        ],
        [],
    ),
    "a claim that is not the pod's": (
        [{"resourceClaimName": "other"}],
        [f'{STATUSES}[0].resourceClaimName: Invalid value: "other": {NOT_A_CLAIM}'],
    ),
    "no claim, and a container twice": (
        [{"resourceClaimName": "", "containers": ["c", "c"]}],
        [
            f'{STATUSES}[0].containers[1]: Duplicate value: "c"',
            f"{STATUSES}[0].resourceClaimName: Required value",
        ],
    ),
    "a claim twice": (
        [status(), status()],
        [f'{STATUSES}[1]: Duplicate value: {{"resourceClaimName":"mine"}}'],
    ),
    "mappings": (
        [status(mapping=[{"name": "pods", "quantity": "-1"}, {"name": "cpu"}])],
        [
            f'{STATUSES}[0].mapping[0].name: Invalid value: "pods": {NOT_A_RESOURCE}',
            f'{STATUSES}[0].mapping[0].quantity: Invalid value: "-1": {NEGATIVE}',
            f"{STATUSES}[0].mapping[1].quantity: Required value",
        ],
    ),
    "overheads": (
        [status(overhead=[{"name": "pods"}, {"name": "cpu", "perPod": "-1"}])],
        [
            f'{STATUSES}[0].overhead[0].name: Invalid value: "pods": {NOT_A_RESOURCE}',
            f'{STATUSES}[0].overhead[0]: Invalid value: "": {NO_OVERHEAD}',
            f'{STATUSES}[0].overhead[1].perPod: Invalid value: "-1": {NEGATIVE}',
        ],
    ),
}


@pytest.mark.parametrize(("told", "expected"), TOLD.values(), ids=TOLD)
def test_statuses_of_pods(told: list[Object], expected: list[str]) -> None:
    claims = [
        {"name": "g", "resourceClaimName": "mine"},
        {"name": "t", "resourceClaimTemplateName": "some"},
    ]
    old = pod(resourceClaims=claims, containers=[container(resources={"claims": [{"name": "g"}]})])
    change = {
        "status": {
            "resourceClaimStatuses": [{"name": "t", "resourceClaimName": "made"}],
            "nodeAllocatableResourceClaimStatuses": told,
        }
    }
    assert update_refusals(old, change, "status") == expected
