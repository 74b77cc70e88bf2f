"""How much of a device a request consumes, and whether it is left."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api.quantity import Quantity
from mooring.api.resource import CapacityRequirements, Device
from mooring.plugins.dynamic_resources.capacity import Rounding, consumption, fits

NANOS = 10**9


def device(policy: dict[str, Any] | None = None, value: str = "10") -> Device:
    capacity = {"memory": {"value": value, "requestPolicy": policy}}
    return msgspec.convert({"name": "d", "capacity": capacity}, Device)


def asks(amount: str | None) -> CapacityRequirements | None:
    return None if amount is None else CapacityRequirements(requests={"memory": amount})


RANGE = {"default": "4", "validRange": {"min": "2", "max": "8", "step": "2"}}
VALUES = {"default": "4", "validValues": ["2", "4", "8"]}


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        pytest.param(None, None, "10", id="all of it, if nothing is asked"),
        pytest.param(RANGE, None, "4", id="the default"),
        pytest.param(None, "3", "3", id="what is asked"),
        pytest.param(RANGE, "1", "2", id="at least the least"),
        pytest.param(RANGE, "3", "4", id="rounded up to a step"),
        pytest.param(RANGE, "4", "4", id="a step"),
        pytest.param({"validRange": {"min": "2"}}, "3", "3", id="a range without steps"),
        pytest.param(VALUES, "3", "4", id="rounded up to a value"),
        pytest.param(VALUES, "9", "9", id="above every value"),
    ],
)
def test_what_is_consumed(policy: Any, asked: str | None, consumed: str) -> None:
    assert consumption(device(policy), asks(asked)) == {"memory": Quantity(consumed)}


@pytest.mark.parametrize(
    ("policy", "asked", "used", "planned", "fit"),
    [
        pytest.param(None, "10", 0, 0, True, id="all of it"),
        pytest.param(None, "11", 0, 0, False, id="more than there is"),
        pytest.param(None, "6", 5, 0, False, id="others use it"),
        pytest.param(None, "6", 2, 3, False, id="others use and plan it"),
        pytest.param(None, "5", 2, 3, True, id="just enough is left"),
        pytest.param(RANGE, "9", 0, 0, False, id="more than the range"),
        pytest.param(RANGE, "7", 0, 0, True, id="a step of the range"),
        pytest.param(VALUES, "9", 0, 0, False, id="no valid value"),
        pytest.param(VALUES, None, 7, 0, False, id="the default is more than is left"),
        pytest.param({"default": "3", "validValues": ["2"]}, None, 0, 0, True, id="any default"),
    ],
)
def test_whether_it_fits(
    policy: Any, asked: str | None, used: int, planned: int, fit: bool
) -> None:
    consumed, plan = ({"memory": amount * NANOS} if amount else None for amount in (used, planned))
    assert fits(device(policy), asks(asked), consumed, plan) is fit


def test_a_capacity_that_a_device_does_not_have_does_not_fit() -> None:
    asked = CapacityRequirements(requests={"cores": "1"})
    assert not fits(device(), asked, None, None)
    assert fits(Device(name="d"), None, None, None)


HALVES = {"default": "1", "validRange": {"min": "500m", "max": "2", "step": "500m"}}


@pytest.mark.parametrize(
    ("policy", "asked", "whole", "fractional"),
    [
        pytest.param(HALVES, "700m", "1", "1", id="a half and a bit"),
        pytest.param(HALVES, "1200m", "2", "1500m", id="rounded up to a half"),
        pytest.param(RANGE, "3", "4", "4", id="whole steps"),
        pytest.param(
            {"validRange": {"min": "1", "step": "1u"}}, "1", "1", "1", id="steps below a thousandth"
        ),
    ],
)
def test_steps_may_be_fractions(policy: Any, asked: str, whole: str, fractional: str) -> None:
    one = device(policy)
    for rounding, consumed in (
        (Rounding(), whole),
        (Rounding(fractional=True), fractional),
    ):
        assert consumption(one, asks(asked), rounding) == {"memory": Quantity(consumed)}
        assert fits(one, asks(asked), None, None, rounding)


def test_a_rounded_amount_has_the_format_of_the_step_since_1_37() -> None:
    one = device({"validRange": {"min": "1k", "step": "1k"}})
    for rounding, text in ((Rounding(), "2k"), (Rounding(format_of_step=False), "2000")):
        (amount,) = consumption(one, asks("1500"), rounding).values()
        assert str(amount) == text
