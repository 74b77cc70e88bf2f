"""Macros: calls that the parser replaces with comprehensions."""

# cel-go: parser/macro.go, cel/library.go (optMap), ext/bindings.go, ext/comprehensions.go,
# ext/lists.go (sortBy)

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mooring.cel.syntax import (
    ACCUMULATOR,
    ADD,
    CONDITIONAL,
    EQUALS,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    MAP_INSERT,
    NOT_STRICTLY_FALSE,
    UNUSED,
    Call,
    Comprehension,
    Ident,
    ListOf,
    Literal,
    MapEntry,
    MapOf,
    Node,
    Select,
)

#: The most nodes that macros may copy. optMap copies its target, so each one in a chain doubles the
#: tree; cel-go has no such limit.
MAX_COPIED = 10_000
_SORT_INPUT = "@__sortBy_input__"
_OLD_ACCUMULATOR = "__result__"


class MacroFault(Exception):
    """A macro with unsuitable arguments."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


class NodeFactory:
    """A factory of nodes, which numbers them."""

    def __init__(self) -> None:
        self._made = 0
        self._copied = 0

    def _id(self) -> int:
        self._made += 1
        return self._made

    def literal(self, place: int, kind: str, value: Any) -> Literal:
        """Return a constant."""
        return Literal(self._id(), place, kind, value)

    def ident(self, place: int, name: str) -> Ident:
        """Return an identifier."""
        return Ident(self._id(), place, name)

    def select(self, place: int, operand: Node, field: str, test_only: bool = False) -> Select:
        """Return the selection of a field."""
        return Select(self._id(), place, operand, field, test_only)

    def call(self, place: int, function: str, *args: Node, target: Node | None = None) -> Call:
        """Return a call."""
        return Call(self._id(), place, function, args, target)

    def list_of(self, place: int, elements: Iterable[Node], optionals: Iterable[int] = ()) -> Node:
        """Return a list."""
        return ListOf(self._id(), place, tuple(elements), frozenset(optionals))

    def map_of(self, place: int, entries: Iterable[MapEntry] = ()) -> Node:
        """Return a map."""
        return MapOf(self._id(), place, tuple(entries))

    def accumulator(self, place: int) -> Node:
        """Return a reference to the accumulator."""
        return self.ident(place, ACCUMULATOR)

    def fold(
        self,
        place: int,
        source: Node,
        variables: tuple[str, ...],
        init: Node,
        condition: Node,
        step: Node,
        result: Node,
        accumulator: str = ACCUMULATOR,
    ) -> Node:
        """Return a comprehension with one iteration variable or two."""
        first, second = (*variables, "")[:2]
        return Comprehension(
            self._id(), place, source, first, second, accumulator, init, condition, step, result
        )

    def bind(self, place: int, name: str, value: Node, result: Node) -> Node:
        """Return a comprehension that only gives a name to a value."""
        never = self.literal(place, "bool", False)
        source, step = self.list_of(place, ()), self.ident(place, name)
        return self.fold(place, source, (UNUSED,), value, never, step, result, name)

    def copy(self, node: Node) -> Node:
        """Return a copy of a tree, with new ids."""
        self._copied += 1
        if self._copied > MAX_COPIED:
            raise MacroFault(-1, f"macros copy more than {MAX_COPIED} parts of the expression")
        place, copy = node.place, self.copy
        if isinstance(node, Literal):
            return self.literal(place, node.kind, node.value)
        if isinstance(node, Ident):
            return self.ident(place, node.name)
        if isinstance(node, Select):
            return self.select(place, copy(node.operand), node.field, node.test_only)
        if isinstance(node, Call):
            target = None if node.target is None else copy(node.target)
            args = [copy(one) for one in node.args]
            return self.call(place, node.function, *args, target=target)
        if isinstance(node, ListOf):
            return self.list_of(place, [copy(one) for one in node.elements], node.optionals)
        if isinstance(node, MapOf):
            entries = [
                MapEntry(copy(one.key), copy(one.value), one.optional) for one in node.entries
            ]
            return self.map_of(place, entries)
        return Comprehension(
            self._id(),
            place,
            copy(node.range),
            node.variable,
            node.second,
            node.accumulator,
            copy(node.init),
            copy(node.condition),
            copy(node.step),
            copy(node.result),
        )


def expand(
    make: NodeFactory, place: int, function: str, target: Node | None, args: list[Node]
) -> Node | None:
    """Return the expansion of a call if it is a macro, else None."""
    if target is None:
        return _has(make, place, args[0]) if (function, len(args)) == ("has", 1) else None
    if (function, len(args)) == ("bind", 3):
        if not isinstance(target, Ident) or target.name != "cel":
            return None
        name = _name(args[0], "cel.bind() variable names must be simple identifiers")
        return make.bind(place, name, args[1], args[2])
    macro = _MACROS.get((function, len(args)))
    return None if macro is None else macro(make, place, target, args)


def _has(make: NodeFactory, place: int, tested: Node) -> Node:
    if not isinstance(tested, Select):
        raise MacroFault(tested.place, "invalid argument to has() macro")
    return make.select(place, tested.operand, tested.field, test_only=True)


def _name(node: Node, otherwise: str) -> str:
    if not isinstance(node, Ident):
        raise MacroFault(node.place, otherwise)
    return node.name


def _variables(nodes: list[Node], otherwise: str) -> tuple[str, ...]:
    names = tuple(_name(node, otherwise) for node in nodes)
    if len(set(names)) != len(names):
        raise MacroFault(nodes[1].place, f"duplicate variable name: {names[0]}")
    for node, name in zip(nodes, names, strict=True):
        if name in (ACCUMULATOR, _OLD_ACCUMULATOR):
            raise MacroFault(node.place, "iteration variable overwrites accumulator variable")
    return names


def _all(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], "argument must be a simple name")
    condition = make.call(place, NOT_STRICTLY_FALSE, make.accumulator(place))
    step = make.call(place, LOGICAL_AND, make.accumulator(place), args[-1])
    init = make.literal(place, "bool", True)
    return make.fold(place, target, names, init, condition, step, make.accumulator(place))


def _exists(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], "argument must be a simple name")
    negated = make.call(place, LOGICAL_NOT, make.accumulator(place))
    condition = make.call(place, NOT_STRICTLY_FALSE, negated)
    step = make.call(place, LOGICAL_OR, make.accumulator(place), args[-1])
    init = make.literal(place, "bool", False)
    return make.fold(place, target, names, init, condition, step, make.accumulator(place))


def _exists_one(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:-1], "argument must be a simple name")
    one = make.literal(place, "int", 1)
    more = make.call(place, ADD, make.accumulator(place), one)
    step = make.call(place, CONDITIONAL, args[-1], more, make.accumulator(place))
    one = make.literal(place, "int", 1)
    result = make.call(place, EQUALS, make.accumulator(place), one)
    always = make.literal(place, "bool", True)
    return make.fold(place, target, names, make.literal(place, "int", 0), always, step, result)


def _collect(
    make: NodeFactory,
    place: int,
    target: Node,
    names: tuple[str, ...],
    tests: list[Node],
    step: Node,
) -> Node:
    if tests:
        step = make.call(place, CONDITIONAL, tests[0], step, make.accumulator(place))
    empty = make.map_of(place) if _inserts(step) else make.list_of(place, ())
    always = make.literal(place, "bool", True)
    return make.fold(place, target, names, empty, always, step, make.accumulator(place))


def _inserts(step: Node) -> bool:
    if isinstance(step, Call) and step.function == CONDITIONAL:
        step = step.args[1]
    return isinstance(step, Call) and step.function == MAP_INSERT


def _append(make: NodeFactory, place: int, node: Node) -> Node:
    return make.call(place, ADD, make.accumulator(place), make.list_of(place, [node]))


def _map(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:1], "argument is not an identifier")
    step = _append(make, place, args[-1])
    return _collect(make, place, target, names, args[1:-1], step)


def _filter(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:1], "argument is not an identifier")
    step = _append(make, place, args[0])
    return _collect(make, place, target, names, args[1:], step)


def _transform_list(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:2], "argument must be a simple name")
    return _collect(make, place, target, names, args[2:-1], _append(make, place, args[-1]))


def _transform_map(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:2], "argument must be a simple name")
    key = make.ident(place, names[0])
    step = make.call(place, MAP_INSERT, make.accumulator(place), key, args[-1])
    return _collect(make, place, target, names, args[2:-1], step)


def _transform_entry(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    names = _variables(args[:2], "argument must be a simple name")
    step = make.call(place, MAP_INSERT, make.accumulator(place), args[-1])
    return _collect(make, place, target, names, args[2:-1], step)


def _opt_map(make: NodeFactory, place: int, target: Node, args: list[Node], *, flat: bool) -> Node:
    macro = "optFlatMap" if flat else "optMap"
    name = _name(args[0], f"{macro}() variable name must be a simple identifier")
    present = make.call(place, "hasValue", target=target)
    value = make.call(place, "value", target=make.copy(target))
    mapped = make.bind(place, name, value, args[1])
    if not flat:
        mapped = make.call(place, "optional.of", mapped)
    none = make.call(place, "optional.none")
    return make.call(place, CONDITIONAL, present, mapped, none)


def _sort_by(make: NodeFactory, place: int, target: Node, args: list[Node]) -> Node:
    if not isinstance(target, ListOf | Select | Ident | Comprehension | Call):
        raise MacroFault(
            target.place,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    keys = _map(make, place, make.ident(place, _SORT_INPUT), args)
    given = make.ident(place, _SORT_INPUT)
    sort = make.call(place, "@sortByAssociatedKeys", keys, target=given)
    return make.bind(place, _SORT_INPUT, target, sort)


_Macro = Callable[[NodeFactory, int, Node, list[Node]], Node]
_MACROS: dict[tuple[str, int], _Macro] = {
    ("all", 2): _all,
    ("all", 3): _all,
    ("exists", 2): _exists,
    ("exists", 3): _exists,
    ("exists_one", 2): _exists_one,
    ("exists_one", 3): _exists_one,
    ("existsOne", 3): _exists_one,
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_entry,
    ("transformMapEntry", 4): _transform_entry,
    ("optMap", 2): lambda *given: _opt_map(*given, flat=False),
    ("optFlatMap", 2): lambda *given: _opt_map(*given, flat=True),
    ("sortBy", 2): _sort_by,
}
