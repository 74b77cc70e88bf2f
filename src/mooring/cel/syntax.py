"""The syntax tree of CEL: nodes with an id and a position in the source.

Operators are calls of functions with cel-go's names (`_+_`, `_[_]`, `@in`). There are no macros:
the parser expands them into comprehensions.
"""

# cel-go: common/ast/expr.go, common/operators/operators.go

from __future__ import annotations

from typing import Any

import msgspec

LOGICAL_AND, LOGICAL_OR, CONDITIONAL = "_&&_", "_||_", "_?_:_"
LOGICAL_NOT, NEGATE, NOT_STRICTLY_FALSE = "!_", "-_", "@not_strictly_false"
EQUALS, NOT_EQUALS, IN, ADD = "_==_", "_!=_", "@in", "_+_"
INDEX, OPT_INDEX, OPT_SELECT = "_[_]", "_[?_]", "_?._"
MAP_INSERT = "cel.@mapInsert"

#: The variable in which a macro collects its result. No source can contain this name.
ACCUMULATOR = "@result"
#: The iteration variable of comprehensions that only bind a name.
UNUSED = "#unused"


class Literal(msgspec.Struct):
    """A constant; `kind` is the name of its CEL type."""

    id: int
    place: int
    kind: str
    value: Any


class Ident(msgspec.Struct):
    """The name of a variable or of a type."""

    id: int
    place: int
    name: str


class Select(msgspec.Struct):
    """A field of an operand; with `test_only`, whether the field is present."""

    id: int
    place: int
    operand: Node
    field: str
    test_only: bool = False


class Call(msgspec.Struct):
    """A call of a function, or of a member function if there is a target."""

    id: int
    place: int
    function: str
    args: tuple[Node, ...]
    target: Node | None = None


class ListOf(msgspec.Struct):
    """A list of elements; those at `optionals` may be missing."""

    id: int
    place: int
    elements: tuple[Node, ...]
    optionals: frozenset[int] = frozenset()


class MapEntry(msgspec.Struct):
    """A key and its value in a map."""

    key: Node
    value: Node
    optional: bool = False


class MapOf(msgspec.Struct):
    """A map of entries."""

    id: int
    place: int
    entries: tuple[MapEntry, ...]


class Comprehension(msgspec.Struct):
    """A loop over a range that computes an accumulator, and a result from it."""

    id: int
    place: int
    range: Node
    variable: str
    second: str
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node

    def binds(self) -> bool:
        """Return whether the loop only gives a name to a value, as `cel.bind` does."""
        return (
            isinstance(self.range, ListOf)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
            and self.accumulator != ACCUMULATOR
        )


Node = Literal | Ident | Select | Call | ListOf | MapOf | Comprehension


def children(node: Node) -> list[Node]:
    """Return the child nodes of a node, in the order of their evaluation."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return [*node.args] if node.target is None else [node.target, *node.args]
    if isinstance(node, ListOf):
        return [*node.elements]
    if isinstance(node, MapOf):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    if isinstance(node, Comprehension):
        return [node.range, node.init, node.condition, node.step, node.result]
    return []


def depth_of(node: Node) -> int:
    """Return the height of the tree below a node, counted in nodes."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        found, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + 1) for child in children(found)]
    return deepest


def qualified_name(node: Node) -> str | None:
    """Return the dotted name that a node spells, or None if it is not a name."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
