"""Derived attributes: values that requests compute from devices, for use in constraints."""

# dynamic-resource-allocation: cel/compile.go (EvaluateDerivedAttribute), cel/cache.go

from __future__ import annotations

from typing import Any

from mooring.api.quantity import Quantity
from mooring.api.resource import DeviceAttribute
from mooring.cel.environment import Program
from mooring.cel.meter import Bill
from mooring.cel.values import EvaluationError, Optional, Semver, TypeValue
from mooring.plugins.dynamic_resources.selectors import MAX_COST, DeviceEnvironment, ProgramCache

#: What messages call the elements of a list, by their Go type.
_ELEMENTS = {"bool": "bool", "int64": "int", "string": "string", "semver.Version": "semver"}


class DerivedAttributes(ProgramCache):
    """A cache of compiled derived attributes. Owned by the scheduling loop."""

    def __init__(self) -> None:
        # Lists are always accepted: if their gate is off, the API server refuses them.
        environment = DeviceEnvironment(lists=True)
        super().__init__(lambda text: environment.compile_derived(text, lists=True))

    def evaluate(
        self, program: Program, variables: dict[str, Any], bill: Bill | None = None
    ) -> DeviceAttribute:
        """Return the value that an expression has for a device, or raise EvaluationError.

        What the evaluation took is recorded in `bill`, if there is one.
        """
        value, _ = program.evaluate(variables, MAX_COST, bill)
        return to_attribute(value)


def to_attribute(value: Any) -> DeviceAttribute:
    """Convert a CEL value to an attribute; raise EvaluationError if its type is unsupported.

    >>> to_attribute([1, 2]).int_values
    (1, 2)
    """
    value = _native(value)
    kind = _go_type(value)
    if kind == "bool":
        return DeviceAttribute(bool_value=value)
    if kind == "int64":
        return DeviceAttribute(int_value=value)
    if kind == "string":
        return DeviceAttribute(string_value=value)
    if kind == "semver.Version":
        return DeviceAttribute(version_value=value.text)
    if isinstance(value, list):
        return _to_list(value)
    raise EvaluationError(f"unsupported CEL return type: {kind}")


def _to_list(elements: list[Any]) -> DeviceAttribute:
    if not elements:
        return DeviceAttribute()
    values = [_native(one) for one in elements]
    kind = _go_type(values[0])
    if kind not in _ELEMENTS:
        raise EvaluationError(f"unsupported list element type: {kind}")
    for index, one in enumerate(values):
        if _go_type(one) != kind:
            raise EvaluationError(
                f"expected list element at index {index} to be {_ELEMENTS[kind]}, "
                f"got {_go_type(one)}"
            )
    if kind == "bool":
        return DeviceAttribute(bool_values=tuple(values))
    if kind == "int64":
        return DeviceAttribute(int_values=tuple(values))
    if kind == "string":
        return DeviceAttribute(string_values=tuple(values))
    return DeviceAttribute(version_values=tuple(one.text for one in values))


def _native(value: Any) -> Any:
    """Convert a CEL value as cel-go does: an optional to its content, a type to its name."""
    while isinstance(value, Optional):
        value = value.value if value.present else _ABSENT
    return value.name if isinstance(value, TypeValue) else value


_ABSENT = object()

_GO_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
    (str, "string"),
    (list, "[]ref.Val"),
    (dict, "map[ref.Val]ref.Val"),
    (Quantity, "*resource.Quantity"),
    (Semver, "semver.Version"),
    (type(None), "structpb.NullValue"),
)


def _go_type(value: Any) -> str:
    return next((name for kind, name in _GO_TYPES if isinstance(value, kind)), "<nil>")
