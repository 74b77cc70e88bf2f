"""The values that requests derive from devices."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.quantity import Quantity
from mooring.api.resource import DeviceAttribute
from mooring.cel.values import NONE, CompileError, EvaluationError, Optional, Semver, TypeValue
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes, to_attribute

DEVICE: dict[str, Any] = {"device": {"driver": "d", "attributes": {"d": {"n": 3}}, "capacity": {}}}


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        pytest.param(True, DeviceAttribute(bool_value=True), id="a bool"),
        pytest.param(7, DeviceAttribute(int_value=7), id="an int"),
        pytest.param("a", DeviceAttribute(string_value="a"), id="a string"),
        pytest.param(Semver("1.2.3"), DeviceAttribute(version_value="1.2.3"), id="a version"),
        pytest.param([True], DeviceAttribute(bool_values=(True,)), id="bools"),
        pytest.param([1, 2], DeviceAttribute(int_values=(1, 2)), id="ints"),
        pytest.param(["a"], DeviceAttribute(string_values=("a",)), id="strings"),
        pytest.param([Semver("1.0.0")], DeviceAttribute(version_values=("1.0.0",)), id="versions"),
        pytest.param([], DeviceAttribute(), id="an empty list has no kind"),
        pytest.param(Optional(True, 1), DeviceAttribute(int_value=1), id="what an optional holds"),
        pytest.param(TypeValue("int"), DeviceAttribute(string_value="int"), id="a type's name"),
    ],
)
def test_values_that_an_attribute_can_have(value: Any, attribute: DeviceAttribute) -> None:
    assert to_attribute(value) == attribute


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1.5, "unsupported CEL return type: float64"),
        (None, "unsupported CEL return type: structpb.NullValue"),
        (Quantity("1"), "unsupported CEL return type: *resource.Quantity"),
        ({"a": 1}, "unsupported CEL return type: map[ref.Val]ref.Val"),
        (NONE, "unsupported CEL return type: <nil>"),
        ([1.5], "unsupported list element type: float64"),
        ([[1]], "unsupported list element type: []ref.Val"),
        ([1, "a"], "expected list element at index 1 to be int, got string"),
        ([Semver("1.0.0"), True], "expected list element at index 1 to be semver, got bool"),
        ([True, 1], "expected list element at index 1 to be bool, got int64"),
        (["a", None], "expected list element at index 1 to be string, got structpb.NullValue"),
    ],
)
def test_other_values(value: Any, why: str) -> None:
    with pytest.raises(EvaluationError) as failed:
        to_attribute(value)
    assert str(failed.value) == why


@pytest.mark.parametrize(
    ("expression", "attribute"),
    [
        ("device.driver", DeviceAttribute(string_value="d")),
        ('device.attributes["d"].n * 2', DeviceAttribute(int_value=6)),
        ('[device.attributes["d"].n]', DeviceAttribute(int_values=(3,))),
        ('semver("1.0.0")', DeviceAttribute(version_value="1.0.0")),
    ],
)
def test_the_value_of_an_expression(expression: str, attribute: DeviceAttribute) -> None:
    derived = DerivedAttributes()
    assert derived.evaluate(derived.compile(expression), DEVICE) == attribute


def test_expressions_of_other_types_are_refused() -> None:
    with pytest.raises(CompileError) as failed:
        DerivedAttributes().compile("1.5")
    assert str(failed.value) == (
        "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these "
        "scalars, not double"
    )
