"""The devices of a search as the allocation of a claim."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import ResourceClaim, ResourceSlice
from mooring.api.quantity import Quantity
from mooring.api.resource import AllocationResult, Device, ExactDeviceRequest
from mooring.plugins.dynamic_resources.device_requests import AllocationError, Wanted, make_wanted
from mooring.plugins.dynamic_resources.pools import CandidateDevice, Pool
from mooring.plugins.dynamic_resources.results import ChosenDevice, ClaimDevices, allocation_of
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import DRIVER, claim, device_class

CLASS = device_class(config=[{"opaque": {"driver": "of the class"}}])
ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}


def wanted(sub_request: str = "", request: str = "r", **fields: Any) -> Wanted:
    exactly = msgspec.convert({"deviceClassName": "gpu", **fields}, ExactDeviceRequest)
    return make_wanted(claim(), request, sub_request, exactly, CLASS)


def chosen(
    one: Wanted | None = None, *, device: Any = None, consumed: Any = None, **spec: Any
) -> ChosenDevice:
    made = msgspec.convert({"name": "d", **(device or {})}, Device)
    owner = make(ResourceSlice, "s", spec={"driver": DRIVER, **spec})
    candidate = CandidateDevice((DRIVER, "p", "d"), made, owner, Pool((DRIVER, "p")))
    return ChosenDevice(one or wanted(), candidate, consumed is not None, consumed or {})


def allocate(
    *found: ChosenDevice, config: Any = (), conditions: bool = True, older: bool = False
) -> AllocationResult:
    given = claim()
    devices = msgspec.convert(
        {**msgspec.to_builtins(given.spec.devices), "config": list(config)},
        type(given.spec.devices),
    )
    owner: ResourceClaim = replace(given, spec=replace(given.spec, devices=devices))
    taken = tuple(one.wanted for one in found)
    return allocation_of(
        ClaimDevices(owner, found, taken),
        "n",
        random.Random(0),
        binding_conditions=conditions,
        older=older,
    )


def test_a_result_names_the_request_and_the_device() -> None:
    (result,) = allocate(chosen(wanted("big"))).devices.results
    assert (result.request, result.driver, result.pool, result.device) == (
        "r/big",
        DRIVER,
        "p",
        "d",
    )
    assert (result.admin_access, result.share_id, result.consumed_capacity) == (None, None, {})


def test_a_share_has_an_id_and_what_it_consumes() -> None:
    (result,) = allocate(chosen(consumed={"memory": Quantity("2Gi")})).devices.results
    assert result.consumed_capacity == {"memory": "2Gi"}
    assert result.share_id is not None
    assert len(result.share_id) == 36


def test_admin_access_is_told() -> None:
    (result,) = allocate(chosen(wanted(adminAccess=True))).devices.results
    assert result.admin_access is True


@pytest.mark.parametrize("conditions", [True, False])
def test_conditions_are_told_where_they_are_enabled(conditions: bool) -> None:
    prepared = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    (result,) = allocate(chosen(device=prepared), conditions=conditions).devices.results
    assert result.binding_conditions == (("Ready",) if conditions else ())
    assert result.binding_failure_conditions == (("Broken",) if conditions else ())


def test_the_configuration_of_a_class_comes_once_and_before_the_claims() -> None:
    own = [
        {"opaque": {"driver": "for all"}},
        {"requests": ["r/big"], "opaque": {"driver": "for one"}},
        {"requests": ["r", "s"], "opaque": {"driver": "for both"}},
        {"requests": ["other"], "opaque": {"driver": "for none"}},
    ]
    devices = [chosen(wanted("big")), chosen(wanted(request="s"))]
    first = ("FromClaim", (), "for all"), ("FromClaim", ("r/big",), "for one")
    assert _config(allocate(*devices, config=own)) == [
        ("FromClass", (), "of the class"),
        *first,
        ("FromClaim", (), "for both"),
    ]
    # 1.36 lists the requests even if these are all, and repeats the configuration for each.
    assert _config(allocate(*devices, config=own, older=True)) == [
        ("FromClass", ("r/big", "s"), "of the class"),
        *first,
        ("FromClaim", ("r", "s"), "for both"),
        ("FromClaim", ("r", "s"), "for both"),
    ]


def _config(found: AllocationResult) -> list[tuple[str, tuple[str, ...], str]]:
    return [(one.source, one.requests, one.opaque["driver"]) for one in found.devices.config]


@pytest.mark.parametrize(
    ("fields", "terms"),
    [
        pytest.param({"allNodes": True}, None, id="every node"),
        pytest.param({"nodeName": "n"}, "metadata.name", id="the node of the slice"),
        pytest.param(
            {"allNodes": True, "device": {"bindsToNode": True}}, "metadata.name", id="bound"
        ),
        pytest.param({"nodeSelector": ZONE}, "zone", id="nodes with a label"),
        pytest.param(
            {"perDeviceNodeSelection": True, "device": {"nodeSelector": ZONE}},
            "zone",
            id="nodes that the device selects",
        ),
    ],
)
def test_the_nodes_from_which_the_devices_are_reached(
    fields: dict[str, Any], terms: str | None
) -> None:
    selector = allocate(chosen(**fields)).node_selector
    if terms is None:
        assert selector is None
        return
    assert selector is not None
    (term,) = selector.node_selector_terms
    assert [one.key for one in (*term.match_expressions, *term.match_fields)] == [terms]


def test_the_same_requirement_of_two_devices_is_told_once() -> None:
    selector = allocate(chosen(nodeSelector=ZONE), chosen(nodeSelector=ZONE)).node_selector
    assert selector is not None
    assert len(selector.node_selector_terms[0].match_expressions) == 1


def test_a_selector_of_several_terms_is_refused() -> None:
    several = {"nodeSelectorTerms": ZONE["nodeSelectorTerms"] * 2}
    with pytest.raises(AllocationError, match=r"unsupported ResourceSlice\.NodeSelector with 2"):
        allocate(chosen(nodeSelector=several))


def test_the_alternatives_that_got_devices() -> None:
    found = ClaimDevices(claim(), (chosen(wanted("big")), chosen()), ())
    assert found.sub_requests() == {"r/big"}
