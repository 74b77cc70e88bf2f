"""The CEL expressions about devices: compiling them, and evaluating selectors."""

# dynamic-resource-allocation: cel/compile.go, cel/cache.go; api: resource/v1/types.go (limits)

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mooring.api.quantity import Quantity
from mooring.api.resource import Device, DeviceAttribute
from mooring.cel import types
from mooring.cel.declared import Declared, declared_map, declared_object, sizes_below
from mooring.cel.environment import Environment, Expression, Program
from mooring.cel.meter import PER_CALL_LIMIT, Bill
from mooring.cel.reads import Reads
from mooring.cel.values import CompileError, Domains, EvaluationError, Semver, type_name

#: The highest cost of a selector, estimated and actual, and its greatest length.
MAX_COST = PER_CALL_LIMIT
MAX_LENGTH = 10 * 1024

#: How many programs are cached, and how many characters their expressions have in total; a program
#: takes up to 200 bytes per character.
_CACHED = 256
_CACHED_CHARACTERS = 256 * 1024
_MAX_DOMAIN, _MAX_ID, _MAX_DRIVER, _MAX_VALUE = 63, 32, 63, 64
_MAX_ATTRIBUTES = 32
#: The kinds of types that an attribute may have; "any" and "dyn" are known at run time only.
_SCALARS = ("bool", "int", "string", "any", "dyn")
_SEMVER = "kubernetes.Semver"
_ANY = re.compile(r"\bany\b")
_INCLUDES = "includes dra_includes_dyn_dyn dyn.(dyn) -> bool"


class DeviceEnvironment:
    """The CEL environment of selectors and derived attributes: the variable `device`.

    With `lists`, attributes may be lists, and there is a function `includes`.
    """

    def __init__(self, *, lists: bool = False) -> None:
        key = Declared(types.STRING, _MAX_ID)
        domain = Declared(types.STRING, _MAX_DOMAIN)
        attribute = Declared(types.DYN if lists else types.ANY, _MAX_VALUE)
        attributes = declared_map(key, attribute, _MAX_ATTRIBUTES)
        capacities = declared_map(key, Declared(types.QUANTITY), _MAX_ATTRIBUTES)
        device = declared_object(
            "kubernetes.DRADevice",
            {
                "driver": Declared(types.STRING, _MAX_DRIVER),
                "attributes": declared_map(domain, attributes, _MAX_ATTRIBUTES),
                "capacity": declared_map(domain, capacities, _MAX_ATTRIBUTES),
                "allowMultipleAllocations": Declared(types.BOOL, 1),
            },
        )
        more = (_INCLUDES,) if lists else ()
        self._lists = lists
        self._environment = Environment({"device": device.type}, device, *more)
        self._sizes = sizes_below(device, "device", attribute)

    def compile(self, source: str) -> Expression:
        """Parse and check a selector, or raise CompileError."""
        expression = self._checked(source)
        kinds = ("bool", "any", "dyn") if self._lists else ("bool", "any")
        if expression.type.kind not in kinds:
            raise CompileError(
                f"must evaluate to bool or the unknown type, not {_described(expression.type)}"
            )
        return expression

    def compile_derived(self, source: str, *, lists: bool) -> Expression:
        """Parse and check a derived attribute, or raise CompileError.

        With `lists`, its value may be a list.
        """
        expression = self._checked(source)
        kind = expression.type
        if not _is_scalar(kind) and not (
            lists and kind.kind == "list" and _is_scalar(kind.parameters[0])
        ):
            or_list = " or a list of these scalars" if lists else ""
            raise CompileError(
                "must evaluate to a primitive scalar (string, integer, boolean, semver)"
                f"{or_list}, not {_described(kind)}"
            )
        return expression

    def _checked(self, source: str) -> Expression:
        try:
            return self._environment.compile(source)
        except CompileError as error:
            failure = CompileError(f"compilation failed: {error}")
            failure.work = error.work
            raise failure from None

    def max_cost(self, expression: Expression) -> int:
        """Return the highest cost that an expression can have."""
        return expression.max_cost(self._sizes)


def _described(kind: types.Type) -> str:
    """Return the text of a type in messages about the result of an expression."""
    return _ANY.sub("google.protobuf.Any", kind.text)


def _is_scalar(kind: types.Type) -> bool:
    return kind.kind in _SCALARS or kind.text == _SEMVER


class ProgramCache:
    """A cache of compiled expressions. Owned by the scheduling loop."""

    def __init__(self, compile: Callable[[str], Expression]) -> None:
        self._compile = compile
        self._programs: dict[str, tuple[Program, Reads, int] | CompileError] = {}
        self._characters = 0

    def compile(self, expression: str) -> Program:
        """Return the program of an expression, or raise CompileError."""
        return self._compiled(expression)[0]

    def reads(self, expression: str) -> Reads:
        """Return what an expression reads of a device, or raise CompileError."""
        return self._compiled(expression)[1]

    def work(self, expression: str) -> int:
        """Return what compiling the constant patterns of an expression takes, as work."""
        compiled = self._found(expression)
        return compiled.work if isinstance(compiled, CompileError) else compiled[2]

    def _compiled(self, expression: str) -> tuple[Program, Reads, int]:
        found = self._found(expression)
        if isinstance(found, CompileError):
            raise CompileError(*found.args)
        return found

    def _found(self, expression: str) -> tuple[Program, Reads, int] | CompileError:
        found = self._programs.get(expression)
        if found is None:
            work = 0
            try:
                compiled = self._compile(expression)
                program = compiled.program()
                work = compiled.work
                found = (program, compiled.reads(), work)
            except CompileError as error:
                found = error
            self._characters += len(expression)
            if len(self._programs) >= _CACHED or self._characters > _CACHED_CHARACTERS:
                self._programs.clear()
                self._characters = len(expression)
            self._programs[expression] = found
        return found


class SelectorCache(ProgramCache):
    """A cache of compiled selectors. Owned by the scheduling loop."""

    def __init__(self, *, lists: bool = False) -> None:
        super().__init__(DeviceEnvironment(lists=lists).compile)

    def evaluate(
        self, program: Program, variables: dict[str, Any], bill: Bill | None = None
    ) -> bool:
        """Return whether a device is selected, or raise EvaluationError.

        What the evaluation took is recorded in `bill`, if there is one.
        """
        value, _ = program.evaluate(variables, MAX_COST, bill)
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
    """Return a device as a selector sees it; names without a domain get the driver's.

    Attributes that are lists are an error unless `lists` allows them.
    """
    attributes, capacity = Domains(), Domains()
    for name, attribute in device.attributes.items():
        domain, key = _split(name, driver)
        try:
            value = attribute_value(attribute, lists=lists)
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


def attribute_value(attribute: DeviceAttribute, *, lists: bool) -> Any:
    """Return an attribute as a selector sees it; raise EvaluationError if it has no such value."""
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
