"""Compile a checked tree into Python functions that evaluate it and count its cost.

Costs are counted at the points where cel-go counts them. A chain such as
`device.attributes["a"].b` is one attribute: each step costs 1, and the attribute itself costs 1
more, except if it is a branch of a conditional or a key. Lists, maps and conversions of constants
are computed once, and cost nothing.

If one side of `&&` or `||` decides the result, an error on the other side is ignored.
"""

# cel-go: interpreter/planner.go, interpreter/interpretable.go, interpreter/decorators.go

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from mooring.cel import syntax
from mooring.cel.call_costs import call_cost
from mooring.cel.calls import (
    apply,
    implementation,
    junction,
    membership,
    not_strictly_false,
    otherwise,
)
from mooring.cel.checker import Checked
from mooring.cel.estimates import LIST_COST, MAP_COST
from mooring.cel.fixed_parts import evaluate_once, fixed_parts
from mooring.cel.meter import CostExceeded, Frame
from mooring.cel.operators import Growing, GrowingMap, truth
from mooring.cel.patterns import PatternError
from mooring.cel.slots import Pending, Run, Unready, attempt, ready
from mooring.cel.syntax import Call, Comprehension, Ident, ListOf, Literal, Node, Select
from mooring.cel.values import (
    NO_OVERLOAD,
    NONE,
    TYPES,
    CompileError,
    EvaluationError,
    Optional,
    find,
    find_optional,
)

_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_PATTERNED = frozenset({"matches", "find", "findAll"})
#: The work of adding an entry to a map.
_MAP_ENTRY = 2


class _Plan:
    """The way in which a node is evaluated."""

    __slots__ = ("constant", "path", "resolve", "run", "value")

    def __init__(self, run: Run, resolve: Run | None = None) -> None:
        self.run = run
        #: Evaluates an attribute without the cost of the attribute itself; None for other nodes.
        self.resolve = resolve
        self.constant = False
        self.value: Any = None
        #: The variable and the constant keys that lead to the value; None for other nodes.
        self.path: tuple[str, ...] | None = None


def build(node: Node, checked: Checked) -> tuple[Run, int]:
    """Return a function that evaluates a tree, and the number of its local variables.

    Raise CompileError if the tree calls an unsupported function or has an invalid constant.
    """
    planner = _Planner(checked, fixed_parts(node, checked))
    return planner.plan(node, {}).run, planner.slots


def _constant(value: Any) -> _Plan:
    plan = _Plan(lambda frame: value)
    plan.constant, plan.value = True, value
    return plan


def _attribute(resolve: Run, *, costs: bool = True) -> _Plan:
    if not costs:
        return _Plan(resolve, resolve)

    def run(frame: Frame) -> Any:
        try:
            return resolve(frame)
        finally:
            # A missing attribute is charged too.
            frame.cost += 1
            if frame.cost > frame.limit:
                raise CostExceeded

    return _Plan(run, resolve)


def _local(place: int) -> _Plan:
    def resolve(frame: Frame) -> Any:
        value = frame.locals[place]
        return ready(frame, place, value) if isinstance(value, Unready) else value

    def run(frame: Frame) -> Any:
        frame.cost += 1
        if frame.cost > frame.limit:
            raise CostExceeded
        value = frame.locals[place]
        return ready(frame, place, value) if isinstance(value, Unready) else value

    return _Plan(run, resolve)


class _Planner:
    def __init__(self, checked: Checked, fixed: Set[int]) -> None:
        self._checked = checked
        self._fixed = fixed
        self.slots = 0

    def plan(self, node: Node, names: Mapping[str, int]) -> _Plan:
        """Return the plan of a node; `names` maps the local variables to their slots."""
        plan = self._plan(node, names)
        if node.id in self._fixed and not plan.constant:
            return _Plan(evaluate_once(plan.run, node.id))
        return plan

    def _plan(self, node: Node, names: Mapping[str, int]) -> _Plan:
        if isinstance(node, Literal):
            if node.kind in ("uint", "bytes"):
                raise CompileError(f"values of type {node.kind} are not supported")
            return _constant(node.value)
        if isinstance(node, Ident):
            return self._ident(node, names)
        if isinstance(node, Select):
            return self._select(node, names)
        if isinstance(node, Call):
            return self._call(node, names)
        if isinstance(node, ListOf):
            return self._list(node, names)
        if isinstance(node, Comprehension):
            return self._comprehension(node, names)
        return self._map(node, names)

    def _type_name(self, name: str) -> _Plan:
        if name not in TYPES:
            raise CompileError(f"values of type {name} are not supported")
        return _constant(TYPES[name])

    def _ident(self, node: Ident, names: Mapping[str, int]) -> _Plan:
        if node.id in self._checked.type_names:
            return self._type_name(node.name)
        slot, name = names.get(node.name), node.name
        if slot is None:
            plan = _attribute(lambda frame: frame.variables[name])
            plan.path = (name,)
            return plan
        return _local(slot)

    # Attributes.

    def _select(self, node: Select, names: Mapping[str, int]) -> _Plan:
        if node.id in self._checked.type_names:
            return self._type_name(self._checked.type_names[node.id])
        operand = self.plan(node.operand, names)
        base, field = operand.resolve or operand.run, node.field
        if node.test_only:

            def test(frame: Frame) -> bool:
                holder = base(frame)
                frame.spend(1)
                return _has(holder, field)

            return _attribute(test, costs=False)
        plan = _attribute(_qualify(base, lambda frame: field), costs=_costs(operand))
        return _walk(plan, operand, field)

    def _index(self, node: Call, names: Mapping[str, int], *, optional: bool) -> _Plan:
        operand, key = (self.plan(arg, names) for arg in node.args)
        base = operand.resolve or operand.run
        look_up = _qualify_optional if optional else _qualify
        plan = _attribute(look_up(base, key.resolve or key.run), costs=_costs(operand))
        if optional or not isinstance(key.value, str):
            return plan
        return _walk(plan, operand, key.value)

    def _conditional(self, node: Call, names: Mapping[str, int]) -> _Plan:
        condition, yes, no = (self.plan(arg, names) for arg in node.args)
        test, if_true, if_false = condition.run, yes.resolve or yes.run, no.resolve or no.run

        def resolve(frame: Frame) -> Any:
            return if_true(frame) if truth(test(frame)) else if_false(frame)

        return _attribute(resolve, costs=False)

    # Calls.

    def _call(self, node: Call, names: Mapping[str, int]) -> _Plan:
        function = self._checked.qualified.get(node.id, node.function)
        if function in (syntax.LOGICAL_AND, syntax.LOGICAL_OR):
            left, right = (self.plan(arg, names).run for arg in node.args)
            return _Plan(junction(left, right, decides=function == syntax.LOGICAL_OR))
        if function == syntax.CONDITIONAL:
            return self._conditional(node, names)
        if function in (syntax.INDEX, syntax.OPT_INDEX, syntax.OPT_SELECT):
            return self._index(node, names, optional=function != syntax.INDEX)
        nodes = list(node.args)
        member = node.target is not None and node.id not in self._checked.qualified
        if node.target is not None and member:
            nodes.insert(0, node.target)
        args = [self.plan(one, names) for one in nodes]
        if function == syntax.NOT_STRICTLY_FALSE:
            return _Plan(not_strictly_false(args[0].run))
        if member and function in ("or", "orValue"):
            return _Plan(otherwise(args[0].run, args[1].run, unwrap=function == "orValue"))
        overloads = self._checked.overloads.get(node.id, ())
        id = overloads[0] if len(overloads) == 1 else ""
        if function == syntax.IN and id == "in_list" and args[1].constant:
            members = args[1].value
            if not members:
                return _constant(False)
            if all(isinstance(one, str | int | float) for one in members):
                return _Plan(membership(args[0].run, members))
        work = implementation(function, member)
        if function in _PATTERNED and len(args) > 1 and isinstance(args[1].value, str):
            self._check_pattern(args[1].value)
        plan = _Plan(apply(work, [arg.run for arg in args], call_cost(function, id)))
        if function in _CONVERSIONS and len(args) == 1 and args[0].constant:
            return _fold(plan.run)
        return plan

    def _check_pattern(self, text: str) -> None:
        try:
            self._checked.patterns.check(text)
        except PatternError as error:
            raise CompileError(f"program instantiation failed: {error}") from None

    # Lists, maps and comprehensions.

    def _list(self, node: ListOf, names: Mapping[str, int]) -> _Plan:
        elements = [self.plan(element, names) for element in node.elements]
        runs = [element.run for element in elements]
        optionals, work = node.optionals, len(runs)

        def make(frame: Frame) -> list[Any]:
            # Constant elements are free.
            frame.labour(work)
            values = [run(frame) for run in runs]
            if not optionals:
                return values
            return [
                value.value if place in optionals else value
                for place, value in enumerate(values)
                if place not in optionals or _present(value)
            ]

        return self._aggregate(make, all([one.constant for one in elements]), LIST_COST)

    def _map(self, node: syntax.MapOf, names: Mapping[str, int]) -> _Plan:
        plans = [
            (self.plan(entry.key, names), self.plan(entry.value, names), entry.optional)
            for entry in node.entries
        ]

        def make(frame: Frame) -> dict[Any, Any]:
            frame.labour(_MAP_ENTRY * len(plans))
            found: dict[Any, Any] = {}
            for key_plan, value_plan, optional in plans:
                key, value = key_plan.run(frame), value_plan.run(frame)
                if not isinstance(key, str | int | float):
                    raise EvaluationError(f"unsupported key type: {type(key).__name__}")
                if key in found:
                    raise EvaluationError(f"Failed with repeated key {key}")
                if not optional:
                    found[key] = value
                elif _present(value):
                    found[key] = value.value
            return found

        constant = all([key.constant and value.constant for key, value, _ in plans])
        return self._aggregate(make, constant, MAP_COST)

    def _aggregate(self, make: Run, constant: bool, cost: int) -> _Plan:
        if constant:
            return _fold(make)

        def run(frame: Frame) -> Any:
            try:
                return make(frame)
            finally:
                frame.spend(cost)

        return _Plan(run)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _comprehension(self, node: Comprehension, names: Mapping[str, int]) -> _Plan:
        gathered, first, second = self._slot(), self._slot(), self._slot()
        outer = {**names, node.accumulator: gathered}
        inner = {**outer, node.variable: first}
        if node.second:
            inner[node.second] = second
        init = _start(self.plan(node.init, names).run)
        source = self.plan(node.range, names).run
        condition = self.plan(node.condition, inner).run
        step = self.plan(node.step, inner).run
        result = self.plan(node.result, outer).run
        two = bool(node.second)

        def run(frame: Frame) -> Any:
            elements = source(frame)
            if not isinstance(elements, list | dict):
                raise EvaluationError(NO_OVERLOAD)
            slots = frame.locals
            slots[gathered] = Pending(init)
            for place, element in enumerate(elements):
                slots[first] = element
                if two:
                    in_list = isinstance(elements, list)
                    slots[first] = place if in_list else element
                    slots[second] = element if in_list else elements[element]
                if attempt(condition, frame) is False:
                    break
                slots[gathered] = attempt(step, frame)
            value = result(frame)
            if isinstance(value, Growing):
                return list(value)
            return dict(value) if isinstance(value, GrowingMap) else value

        return _Plan(run)


def _start(init: Run) -> Run:
    """Return a function that creates the accumulator; an empty list or map becomes growable."""

    def run(frame: Frame) -> Any:
        value = init(frame)
        if value == [] and isinstance(value, list):
            return Growing()
        return GrowingMap() if value == {} and isinstance(value, dict) else value

    return run


def _costs(operand: _Plan) -> bool:
    """Return whether an attribute costs 1 by itself; a conditional does not."""
    return operand.resolve is None or operand.resolve is not operand.run


def _present(value: Any) -> bool:
    if not isinstance(value, Optional):
        raise EvaluationError("cannot initialize optional entry from non-optional value")
    return value.present


def _fold(run: Run) -> _Plan:
    """Return the plan of a constant, computed now."""
    try:
        return _constant(run(Frame({}, 0, 2**64)))
    except EvaluationError as error:
        raise CompileError(f"program instantiation failed: {error}") from None


def _has(holder: Any, field: str) -> bool:
    if not isinstance(holder, dict):
        return find_optional(holder, field).present
    # A missing domain counts as an empty one, so it is present.
    return field in holder or hasattr(holder, "__missing__")


def _walk(plan: _Plan, operand: _Plan, key: str) -> _Plan:
    """Add a shortcut to a value below a variable, if only constant keys lead to it."""
    if operand.path is None:
        return plan
    plan.path = (*operand.path, key)
    (name, *keys), slow = plan.path, plan.run
    cost = len(keys) + 1

    def run(frame: Frame) -> Any:
        value = frame.variables[name]
        try:
            for one in keys:
                value = value[one]
        except (KeyError, TypeError):
            # The slow path finds the error and its cost.
            return slow(frame)
        frame.cost += cost
        if frame.cost > frame.limit:
            raise CostExceeded
        return value

    plan.run = run
    return plan


def _qualify(base: Run, key: Run) -> Run:
    def resolve(frame: Frame) -> Any:
        holder = base(frame)
        if isinstance(holder, Optional):
            return _select_optional(frame, holder, key)
        value = key(frame)
        frame.cost += 1
        if frame.cost > frame.limit:
            raise CostExceeded
        return find(holder, value)

    return resolve


def _qualify_optional(base: Run, key: Run) -> Run:
    def resolve(frame: Frame) -> Any:
        return _select_optional(frame, base(frame), key)

    return resolve


def _select_optional(frame: Frame, holder: Any, key: Run) -> Optional:
    if isinstance(holder, Optional) and not holder.present:
        return NONE
    found = find_optional(holder, key(frame))
    if found.present:
        frame.spend(1)
    return found
