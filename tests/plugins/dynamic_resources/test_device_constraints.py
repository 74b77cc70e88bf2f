"""Constraints on the devices of a claim."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api import ResourceSlice
from mooring.api.resource import Device, DeviceAttribute, DeviceConstraint
from mooring.plugins.dynamic_resources.device_constraints import find_attribute, make_constraint
from mooring.plugins.dynamic_resources.pools import CandidateDevice, Pool
from tests.plugins.dynamic_resources.devices import DRIVER

NUMA = f"{DRIVER}/numa"


def candidate(**attributes: Any) -> CandidateDevice:
    """Return a device; an attribute is given as kind and value, such as `numa={"int": 1}`."""
    device = msgspec.convert({"name": "d", "attributes": attributes}, Device)
    return CandidateDevice((DRIVER, "p", "d"), device, ResourceSlice(), Pool((DRIVER, "p")))


def same(*requests: str) -> Any:
    return make_constraint(DeviceConstraint(requests=requests, match_attribute=NUMA))


def distinct(*requests: str) -> Any:
    return make_constraint(DeviceConstraint(requests=requests, distinct_attribute=NUMA))


ZERO, ONE, TEXT = ({"numa": value} for value in ({"int": 0}, {"int": 1}, {"string": "0"}))


def test_an_attribute_of_the_drivers_domain_may_be_listed_without_it() -> None:
    assert find_attribute(candidate(**ZERO), NUMA).int_value == 0  # type: ignore[union-attr]
    full = candidate(**{NUMA: {"int": 7}, "numa": {"int": 0}})
    assert find_attribute(full, NUMA).int_value == 7  # type: ignore[union-attr]
    assert find_attribute(candidate(**ZERO), "other.example.com/numa") is None
    assert find_attribute(candidate(**ZERO), "numa").int_value == 0  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("make", "second", "allowed"),
    [
        pytest.param(same, ZERO, True, id="the same value"),
        pytest.param(same, ONE, False, id="another value"),
        pytest.param(same, TEXT, False, id="another kind of value"),
        pytest.param(same, {}, False, id="no value"),
        pytest.param(distinct, ZERO, False, id="the same value where it must differ"),
        pytest.param(distinct, ONE, True, id="another value where it must differ"),
        pytest.param(distinct, {}, False, id="no value where it must differ"),
    ],
)
def test_a_second_device(make: Any, second: dict[str, Any], allowed: bool) -> None:
    constraint = make()
    assert constraint.add("r", "", candidate(**ZERO))
    assert constraint.add("s", "", candidate(**second)) is allowed


@pytest.mark.parametrize("make", [same, distinct])
def test_a_device_that_is_taken_back_no_longer_counts(make: Any) -> None:
    constraint = make()
    constraint.add("r", "", candidate(**ZERO))
    constraint.remove("r", "", candidate(**ZERO))
    for one in (ONE, ZERO):
        assert constraint.add("r", "", candidate(**one))
        constraint.remove("r", "", candidate(**one))


@pytest.mark.parametrize("make", [same, distinct])
def test_requests_that_are_not_named_are_free(make: Any) -> None:
    constraint = make("r", "s/big")
    assert constraint.add("other", "", candidate())
    constraint.remove("other", "", candidate())
    assert not constraint.add("r", "", candidate())
    assert not constraint.add("s", "big", candidate())
    assert constraint.add("s", "small", candidate())


def test_a_distinct_value_differs_from_those_of_all_devices() -> None:
    constraint = distinct()
    assert constraint.add("r", "", candidate(**ZERO))
    assert constraint.add("r", "", candidate(**ONE))
    assert not constraint.add("r", "", candidate(**ZERO))
    constraint.remove("r", "", candidate(**ONE))
    assert not constraint.add("s", "", candidate(**ZERO))


def test_in_1_36_a_distinct_value_differs_from_the_last_one_of_each_request() -> None:
    rule = DeviceConstraint(distinct_attribute=NUMA)
    constraint: Any = make_constraint(rule, distinct_by_request=True)
    assert constraint.add("r", "", candidate(**ZERO))
    assert constraint.add("r", "", candidate(**ONE))
    assert constraint.add("s", "", candidate(**ZERO))
    assert not constraint.add("t", "", candidate(**ONE))


def values(*numbers: int) -> dict[str, Any]:
    return {"numa": {"ints": list(numbers)}}


@pytest.mark.parametrize(
    ("kind", "devices", "allowed"),
    [
        pytest.param("match", [values(1, 2), values(2, 3)], True, id="a value in common"),
        pytest.param("match", [values(1), values(2)], False, id="no value in common"),
        pytest.param("match", [values(1, 0), ZERO], True, id="a list and a single value"),
        pytest.param("match", [ZERO, TEXT], False, id="values of two kinds"),
        pytest.param("match", [ZERO, values()], False, id="an empty list"),
        pytest.param(
            "match", [values(1, 2), values(2, 3), values(1, 3)], False, id="not common to all"
        ),
        pytest.param("distinct", [values(1, 2), values(3)], True, id="nothing in common"),
        pytest.param("distinct", [values(1, 2), values(2)], False, id="not distinct"),
        pytest.param("distinct", [ZERO, TEXT], True, id="distinct by kind"),
        pytest.param("distinct", [ZERO, values()], False, id="an empty list where it must differ"),
    ],
)
def test_attributes_that_may_be_lists(
    kind: str, devices: list[dict[str, Any]], allowed: bool
) -> None:
    rule = msgspec.convert({f"{kind}Attribute": NUMA}, DeviceConstraint)
    constraint: Any = make_constraint(rule, lists=True)
    *first, last = devices
    assert all(constraint.add("r", "", candidate(**one)) for one in first)
    before = constraint.state()
    assert constraint.add("r", "", candidate(**last)) is allowed
    if allowed:
        constraint.remove("r", "", candidate(**last))
    assert constraint.state() == before


def test_a_request_may_see_other_attributes() -> None:
    constraint = same()
    assert constraint.add("r", "", candidate(**ZERO))
    seen = DeviceAttribute(int_value=0)
    assert constraint.add("s", "", candidate(**ONE), lambda one, name: seen)
    assert not constraint.add("s", "", candidate(**ONE))


def test_a_constraint_of_an_unknown_kind_is_none() -> None:
    assert make_constraint(DeviceConstraint()) is None
