"""Turn a tree of CEL into Python functions of the variables.

`&&` and `||` look at both sides: an error on one does not count where the other decides.
"""

# cel-go: interpreter/interpretable.go

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from mooring.api.quantity import MAX_INT64, MIN_INT64
from mooring.plugins.dynamic_resources.cel import parser
from mooring.plugins.dynamic_resources.cel.functions import FUNCTIONS, METHODS, QUALIFIED
from mooring.plugins.dynamic_resources.cel.parser import Node
from mooring.plugins.dynamic_resources.cel.values import (
    NO_OVERLOAD,
    TYPES,
    CompileError,
    EvaluationError,
    contains,
    equal,
    find,
    find_optional,
    is_number,
    ordered,
)

Variables = Mapping[str, Any]
Program = Callable[[Variables], Any]


def build(node: Node, names: frozenset[str]) -> Program:
    """Return what evaluates a tree, given the names of its variables; CompileError where not."""
    if isinstance(node, parser.Literal):
        value = node.value
        return lambda _: value
    if isinstance(node, parser.Ident):
        return _variable(node.name, names)
    if isinstance(node, parser.Select):
        return _look_up(build(node.operand, names), lambda _: node.field, node.optional)
    if isinstance(node, parser.Index):
        return _look_up(build(node.operand, names), build(node.key, names), node.optional)
    if isinstance(node, parser.Operation):
        return _operation(node.operator, [build(operand, names) for operand in node.operands])
    if isinstance(node, parser.ListOf):
        elements = [build(element, names) for element in node.elements]
        return lambda variables: [element(variables) for element in elements]
    if isinstance(node, parser.MapOf):
        entries = [(build(key, names), build(value, names)) for key, value in node.entries]
        return lambda variables: {key(variables): value(variables) for key, value in entries}
    return _call(node, names)


def _variable(name: str, names: frozenset[str]) -> Program:
    if name in TYPES and name not in names:
        return lambda _: TYPES[name]
    if name not in names:
        raise CompileError(f"undeclared reference to '{name}' (in container '')")
    return lambda variables: variables[name]


def _look_up(operand: Program, key: Program, optional: bool) -> Program:
    how = find_optional if optional else find
    return lambda variables: how(operand(variables), key(variables))


# Operators.


def _operation(operator: str, operands: list[Program]) -> Program:
    if operator in ("&&", "||"):
        return _junction(operands[0], operands[1], decides=operator == "||")
    if operator == "?:":
        condition, yes, no = operands
        return lambda variables: (yes if _truth(condition(variables)) else no)(variables)
    if operator == "!":
        operand = operands[0]
        return lambda variables: not _truth(operand(variables))
    if operator == "-" and len(operands) == 1:
        operand = operands[0]
        return lambda variables: _subtract(0, operand(variables))
    left, right = operands
    work = _OPERATORS[operator]
    return lambda variables: work(left(variables), right(variables))


def _truth(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise EvaluationError(NO_OVERLOAD)


def _junction(left: Program, right: Program, *, decides: bool) -> Program:
    def evaluate(variables: Variables) -> bool:
        try:
            if _truth(left(variables)) is decides:
                return decides
        except EvaluationError:
            if _truth(right(variables)) is decides:
                return decides
            raise
        return _truth(right(variables))

    return evaluate


def _whole(value: int) -> int:
    if not MIN_INT64 <= value <= MAX_INT64:
        raise EvaluationError("integer overflow")
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _add(a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        return _whole(a + b)
    if any(isinstance(a, kind) and isinstance(b, kind) for kind in (str, float, list)):
        return a + b
    raise EvaluationError(NO_OVERLOAD)


def _subtract(a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        return _whole(a - b)
    if is_number(a) and is_number(b) and (isinstance(a, float) or isinstance(b, float)):
        return a - b
    raise EvaluationError(NO_OVERLOAD)


def _multiply(a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        return _whole(a * b)
    if isinstance(a, float) and isinstance(b, float):
        return a * b
    raise EvaluationError(NO_OVERLOAD)


def _divide(a: Any, b: Any) -> Any:
    if _is_int(a) and _is_int(b):
        if b == 0:
            raise EvaluationError("division by zero")
        # CEL rounds towards zero.
        return _whole(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))
    if isinstance(a, float) and isinstance(b, float):
        if b:
            return a / b
        return math.copysign(math.inf, a) * math.copysign(1, b) if a else math.nan
    raise EvaluationError(NO_OVERLOAD)


def _remainder(a: Any, b: Any) -> int:
    if not (_is_int(a) and _is_int(b)):
        raise EvaluationError(NO_OVERLOAD)
    if b == 0:
        raise EvaluationError("modulus by zero")
    return int(math.fmod(a, b)) if max(abs(a), abs(b)) < 2**53 else a - b * _divide(a, b)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": equal,
    "!=": lambda a, b: not equal(a, b),
    "<": ordered,
    ">": lambda a, b: ordered(b, a),
    "<=": lambda a, b: ordered(a, b) or equal(a, b),
    ">=": lambda a, b: ordered(b, a) or equal(a, b),
    "in": lambda a, b: contains(b, a),
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
}


# Calls and macros.


def _call(node: parser.Call, names: frozenset[str]) -> Program:
    target = node.target
    if target is None:
        if node.name == "has":
            return _has(node, names)
        return _apply(FUNCTIONS.get(node.name), node.name, node.args, names)
    if isinstance(target, parser.Ident) and target.name not in names:
        if (target.name, node.name) == ("cel", "bind"):
            return _bind(node, names)
        work = QUALIFIED.get((target.name, node.name))
        return _apply(work, f"{target.name}.{node.name}", node.args, names)
    if node.name in _MACROS and len(node.args) in (2, 3) and isinstance(node.args[0], parser.Ident):
        return _comprehension(node, target, names)
    return _apply(METHODS.get(node.name), node.name, (target, *node.args), names)


def _apply(
    work: Callable[..., Any] | None, name: str, nodes: tuple[Node, ...], names: frozenset[str]
) -> Program:
    if work is None:
        raise CompileError(f"undeclared reference to '{name}' (in container '')")
    args = [build(node, names) for node in nodes]

    def evaluate(variables: Variables) -> Any:
        values = [arg(variables) for arg in args]
        try:
            return work(*values)
        except TypeError:
            raise EvaluationError(NO_OVERLOAD) from None

    return evaluate


def _has(node: parser.Call, names: frozenset[str]) -> Program:
    if len(node.args) != 1 or not isinstance(node.args[0], parser.Select):
        raise CompileError("invalid argument to has() macro")
    tested = node.args[0]
    operand, field = build(tested.operand, names), tested.field

    def evaluate(variables: Variables) -> bool:
        holder = operand(variables)
        if not isinstance(holder, dict):
            return find_optional(holder, field).present
        # A domain that is not there counts as an empty one.
        return field in holder or hasattr(holder, "__missing__")

    return evaluate


def _bind(node: parser.Call, names: frozenset[str]) -> Program:
    if len(node.args) != 3 or not isinstance(node.args[0], parser.Ident):
        raise CompileError("cel.bind() variable names must be simple identifiers")
    name = node.args[0].name
    value, body = build(node.args[1], names), build(node.args[2], names | {name})
    return lambda variables: body({**variables, name: value(variables)})


def _comprehension(node: parser.Call, target: Node, names: frozenset[str]) -> Program:
    variable = node.args[0]
    assert isinstance(variable, parser.Ident)
    source = build(target, names)
    bodies = [build(body, names | {variable.name}) for body in node.args[1:]]
    macro = _MACROS[node.name]
    if len(bodies) != 1 and node.name != "map":
        raise CompileError(f"found no matching overload for '{node.name}'")

    def evaluate(variables: Variables) -> Any:
        elements = source(variables)
        if not isinstance(elements, list | dict):
            raise EvaluationError(NO_OVERLOAD)
        scopes = [{**variables, variable.name: element} for element in elements]
        return macro(bodies, scopes, list(elements))

    return evaluate


def _decided(body: Program, scopes: list[dict[str, Any]], *, decides: bool) -> bool:
    """Ask each element until one decides; an error counts only where none does."""
    failure: EvaluationError | None = None
    for scope in scopes:
        try:
            if _truth(body(scope)) is decides:
                return decides
        except EvaluationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decides


def _map(bodies: list[Program], scopes: list[dict[str, Any]], elements: list[Any]) -> list[Any]:
    *tests, transform = bodies
    return [transform(scope) for scope in scopes if all(_truth(test(scope)) for test in tests)]


_MACROS: dict[str, Callable[[list[Program], list[dict[str, Any]], list[Any]], Any]] = {
    "all": lambda bodies, scopes, _: _decided(bodies[0], scopes, decides=False),
    "exists": lambda bodies, scopes, _: _decided(bodies[0], scopes, decides=True),
    "exists_one": lambda bodies, scopes, _: sum(_truth(bodies[0](s)) for s in scopes) == 1,
    "filter": lambda bodies, scopes, elements: [
        element for element, scope in zip(elements, scopes, strict=True) if _truth(bodies[0](scope))
    ],
    "map": _map,
}
