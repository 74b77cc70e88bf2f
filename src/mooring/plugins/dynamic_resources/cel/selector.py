"""Compile device selectors, and ask them about devices."""

# dynamic-resource-allocation: cel/compile.go, cel/cache.go

from __future__ import annotations

from typing import Any

from mooring.api.quantity import Quantity
from mooring.api.resource import Device, DeviceAttribute
from mooring.plugins.dynamic_resources.cel.evaluator import Program, Variables, build
from mooring.plugins.dynamic_resources.cel.parser import parse
from mooring.plugins.dynamic_resources.cel.values import (
    CompileError,
    Domains,
    EvaluationError,
    Semver,
    type_name,
)

#: What a selector may speak of.
VARIABLES = frozenset({"device"})
_CACHED = 256


class SelectorCache:
    """Compile each expression once. Owned by the scheduling loop."""

    def __init__(self) -> None:
        self._programs: dict[str, Program | CompileError] = {}

    def compile(self, expression: str) -> Program:
        """Return what evaluates an expression, or raise CompileError."""
        found = self._programs.get(expression)
        if found is None:
            try:
                found = build(parse(expression), VARIABLES)
            except CompileError as error:
                found = CompileError(f"compilation failed: {error}")
            if len(self._programs) >= _CACHED:
                self._programs.clear()
            self._programs[expression] = found
        if isinstance(found, CompileError):
            raise CompileError(*found.args)
        return found

    def evaluate(self, program: Program, variables: Variables) -> bool:
        """Tell whether a device is selected, or raise EvaluationError."""
        value = program(variables)
        if value is True or value is False:
            return bool(value)
        kind = type_name(value)
        why = f"unsupported native conversion from {kind} to 'bool'"
        if kind == "int":
            why = "unsupported type conversion from 'int' to bool"
        elif kind.startswith("kubernetes."):
            why = f"type conversion error from '{kind.removeprefix('kubernetes.')}' to 'bool'"
        raise EvaluationError(f"CEL result of type {kind} could not be converted to bool: {why}")


def device_variables(driver: str, device: Device, *, lists: bool = False) -> dict[str, Any]:
    """Return what a selector sees of a device; names without a domain are the driver's.

    Attributes that are lists are an error unless `lists` allows them.
    """
    attributes, capacity = Domains(), Domains()
    for name, attribute in device.attributes.items():
        domain, key = _split(name, driver)
        try:
            value = _attribute(attribute, lists)
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: {error}") from None
        attributes.setdefault(domain, {})[key] = value
    for name, offered in device.capacity.items():
        domain, key = _split(name, driver)
        capacity.setdefault(domain, {})[key] = Quantity(offered.value)
    return {
        "device": {
            "driver": driver,
            "allowMultipleAllocations": bool(device.allow_multiple_allocations),
            "attributes": attributes,
            "capacity": capacity,
        }
    }


def _split(name: str, driver: str) -> tuple[str, str]:
    domain, slash, key = name.partition("/")
    return (domain, key) if slash else (driver, name)


def _attribute(attribute: DeviceAttribute, lists: bool) -> Any:
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        return _version(attribute.version_value)
    if lists:
        if attribute.version_values:
            return [_version(text) for text in attribute.version_values]
        for values in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if values:
                return list(values)
    raise EvaluationError("unsupported attribute value")


def _version(text: str) -> Semver:
    try:
        return Semver(text)
    except EvaluationError as error:
        raise EvaluationError(f"parse semantic version: {error}") from None
