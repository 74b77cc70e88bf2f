"""Requests for devices, prepared for the search."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api.resource import DeviceTaint, ExactDeviceRequest
from mooring.plugins.dynamic_resources.device_requests import AllocationError, Wanted, make_wanted
from tests.plugins.dynamic_resources.devices import claim, device_class

CLASS = device_class(selectors=[{"cel": {"expression": "of the class"}}])


def wanted(sub_request: str = "", known: Any = CLASS, **fields: Any) -> Wanted:
    exactly = msgspec.convert({"deviceClassName": "gpu", **fields}, ExactDeviceRequest)
    return make_wanted(claim(), "r", sub_request, exactly, known)


def test_names_of_requests_and_alternatives() -> None:
    assert (wanted().name, wanted().own_name) == ("r", "r")
    assert (wanted("big").name, wanted("big").own_name) == ("r/big", "big")


@pytest.mark.parametrize(
    ("fields", "count", "everything"),
    [
        ({}, 1, False),
        ({"count": 3}, 3, False),
        ({"allocationMode": "ExactCount", "count": 2}, 2, False),
        ({"allocationMode": "All"}, 0, True),
    ],
)
def test_how_many_devices(fields: dict[str, Any], count: int, everything: bool) -> None:
    found = wanted(**fields)
    assert (found.count, found.wants_all) == (count, everything)


def test_the_selectors_of_the_class_come_first() -> None:
    found = wanted(selectors=[{"cel": {"expression": "its own"}}])
    assert found.selectors == ((CLASS, 0, "of the class"), (None, 0, "its own"))


def test_admin_access_and_capacity() -> None:
    assert not wanted().is_admin
    assert wanted(adminAccess=True).is_admin
    assert wanted().capacity is None
    assert wanted(capacity={"requests": {"memory": "1"}}).capacity.requests == {"memory": "1"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"deviceClassName": ""}, "missing device class name (unsupported request type?)"),
        ({"allocationMode": "Some"}, "unsupported count mode Some"),
        ({"selectors": [{}]}, "selector #0: CEL expression empty (unsupported selector type?)"),
        (
            {"known": None},
            'could not retrieve device class gpu: deviceclass.resource.k8s.io "gpu" not found',
        ),
    ],
)
def test_a_request_that_cannot_be_served_is_said(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(AllocationError) as refused:
        wanted("big", **fields)
    assert str(refused.value).startswith("claim default/c, request big")
    assert str(refused.value).endswith(text)


TAINT = DeviceTaint(key="k", value="v", effect="NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"key": "k", "value": "v"}, True),
        ({"key": "k", "operator": "Equal", "value": "x"}, False),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Near"}, False),
    ],
)
def test_tolerations(toleration: dict[str, str], tolerated: bool) -> None:
    assert wanted(tolerations=[toleration]).tolerates(TAINT) is tolerated
    assert not wanted().tolerates(TAINT)
