"""Estimate the most that an expression can cost, from the sizes of what it reads."""

# cel-go: checker/cost.go

from __future__ import annotations

import msgspec

from mooring.cel.call_estimates import Argument, CallEstimate, Sizes, estimate_call
from mooring.cel.checker import Checked
from mooring.cel.estimates import (
    LIST_COST,
    MAP_COST,
    MAX,
    NOTHING,
    ONE,
    STRING_FACTOR,
    UNKNOWN,
    Range,
    fixed,
)
from mooring.cel.syntax import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
)
from mooring.cel.types import Type, unwrap_optional

_SCALARS = ("bool", "double", "duration", "int", "timestamp", "uint")
Path = tuple[str, ...]


class _Entries(msgspec.Struct, frozen=True):
    """The sizes of the keys and values of a list or a map."""

    kind: str
    keys: Range
    values: Range


class _Local(msgspec.Struct, frozen=True):
    """What is known about a variable of a comprehension."""

    path: Path
    size: Range | None
    entries: _Entries | None


def estimate(node: Node, checked: Checked, sizes: Sizes) -> Range:
    """Return the least and the most that an expression can cost."""
    return _Estimator(checked, sizes).cost(node)


class _Estimator:
    def __init__(self, checked: Checked, sizes: Sizes) -> None:
        self._checked = checked
        self._sizes = sizes
        self._paths: dict[int, Path] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._computed: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}

    # What is known about nodes.

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Node) -> Path:
        if isinstance(node, Ident) and (known := self._local(node.name)) is not None:
            return known.path
        return self._paths.get(node.id, ())

    def _type(self, node: Node) -> Type:
        return self._checked.types[node.id]

    def _size(self, node: Node) -> Range | None:
        known = self._computed.get(node.id)
        if known is not None:
            return known
        if isinstance(node, Literal):
            sized = isinstance(node.value, str | bytes)
            return fixed(len(node.value) if sized else 1)
        if isinstance(node, ListOf):
            return fixed(len(node.elements))
        if isinstance(node, MapOf):
            return fixed(len(node.entries))
        declared = self._sizes(self._path(node))
        if declared is not None:
            self._computed[node.id] = declared
            return declared
        if _is_scalar(self._type(node)):
            return ONE
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.size
        return None

    def _size_or_unknown(self, node: Node) -> Range:
        found = self._size(node)
        return UNKNOWN if found is None else found

    def _entries_of(self, node: Node) -> _Entries | None:
        known = self._entries.get(node.id)
        if known is None and isinstance(node, Ident):
            local = self._local(node.name)
            return None if local is None else local.entries
        return known

    def _argument(self, node: Node) -> Argument:
        path = self._path(node)
        if path and path[0] == ACCUMULATOR:
            path = ()
        literal = node.value if isinstance(node, Literal) else None
        return Argument(path, self._type(node), self._size(node), literal)

    # Costs.

    def cost(self, node: Node) -> Range:
        """Return what a node and all nodes below it can cost."""
        if isinstance(node, Literal):
            return NOTHING
        if isinstance(node, Ident):
            local = self._local(node.name)
            self._paths[node.id] = (node.name,) if local is None else local.path
            return ONE
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListOf):
            return self._list(node)
        if isinstance(node, MapOf):
            return self._map(node)
        return self._bind(node) if node.binds() else self._comprehension(node)

    def _select(self, node: Select) -> Range:
        if node.id in self._checked.type_names:
            return ONE
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if self._type(node.operand).kind in ("map", "struct", "param"):
            total += ONE
        self._paths[node.id] = (*self._path(node.operand), node.field)
        return total

    def _list(self, node: ListOf) -> Range:
        total, size = NOTHING, Range(MAX if node.elements else 0, 0)
        for element in node.elements:
            total += self.cost(element)
            size = size.union(self._size_or_unknown(element))
        self._entries[node.id] = _Entries("list", ONE, size)
        return total + fixed(LIST_COST)

    def _map(self, node: MapOf) -> Range:
        total = NOTHING
        keys = values = Range(MAX if node.entries else 0, 0)
        for entry in node.entries:
            total += self.cost(entry.key)
            total += self.cost(entry.value)
            keys = keys.union(self._size_or_unknown(entry.key))
            values = values.union(self._size_or_unknown(entry.value))
        self._entries[node.id] = _Entries("map", keys, values)
        return total + fixed(MAP_COST)

    def _copy_sizes(self, to: Node, source: Node) -> None:
        if (size := self._size(source)) is not None:
            self._computed[to.id] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[to.id] = entries

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _push_value(self, name: str, node: Node) -> None:
        self._push(name, _Local(self._path(node), self._size(node), self._entries_of(node)))

    def _push_iterated(self, name: str, source: Node, *, second: bool, two: bool) -> None:
        entries = self._entries_of(source)
        kind = entries.kind if entries is not None else self._type(source).kind
        in_list = kind == "list"
        if second or (in_list and not two):
            size = None if entries is None else entries.values
            step = "@items" if in_list else "@values"
        else:
            size = None if entries is None else entries.keys
            step = "@indices" if in_list else "@keys"
        self._push(name, _Local((*self._path(source), step), size, None))

    def _bind(self, node: Comprehension) -> Range:
        total = self.cost(node.range) + self.cost(node.init)
        self._push_value(node.accumulator, node.init)
        total += self.cost(node.result)
        self._locals[node.accumulator].pop()
        self._copy_sizes(node, node.result)
        return total

    def _comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.range) + self.cost(node.init)
        self._push_value(node.accumulator, node.init)
        two = bool(node.second)
        self._push_iterated(node.variable, node.range, second=False, two=two)
        if two:
            self._push_iterated(node.second, node.range, second=True, two=True)
        loop = self.cost(node.condition)
        step = self.cost(node.step)
        self._locals[node.variable].pop()
        if two:
            self._locals[node.second].pop()
        total += self.cost(node.result)
        self._locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        total += count * (step + loop)
        if isinstance(node.init, Literal):
            self._computed[node.id] = self._size_or_unknown(node.init)
        elif isinstance(node.init, ListOf | MapOf):
            self._computed[node.id] = count
            if (entries := self._entries_of(node.step)) is not None:
                self._entries[node.id] = entries
        return total

    # Calls.

    def _call(self, node: Call) -> Range:
        function = self._checked.qualified.get(node.id, node.function)
        if function == "dyn":
            total = self.cost(node.args[0]) + ONE
            self._copy_sizes(node, node.args[0])
            return total
        costs: list[Range] = []
        arguments: list[Argument] = []
        for arg in node.args:
            costs.append(self.cost(arg))
            arguments.append(self._argument(arg))
        ids = self._checked.overloads.get(node.id, ())
        if not ids:
            return NOTHING
        total, target = NOTHING, None
        if node.target is not None and node.id not in self._checked.qualified:
            total = self.cost(node.target)
            target = self._argument(node.target)
        worst, size = Range(MAX, 0), None
        for id in ids:
            found = self._overload(node, function, id, target, arguments, costs)
            worst = worst.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if id in ("index_list", "index_map"):
                entries = self._entries_of(node.args[0])
                size = None if entries is None else entries.values
                step = "@items" if id == "index_list" else "@values"
                self._paths[node.id] = (*self._path(node.args[0]), step)
            if size is None:
                size = self._size(node)
        if size is not None:
            self._computed[node.id] = size
        return total + worst

    def _overload(
        self,
        node: Call,
        function: str,
        id: str,
        target: Argument | None,
        arguments: list[Argument],
        costs: list[Range],
    ) -> CallEstimate:
        below = NOTHING
        for cost in costs:
            below += cost
        if (found := estimate_call(self._sizes, function, id, target, arguments)) is not None:
            return CallEstimate(found.cost + below, found.size)
        if id in ("logical_or", "logical_and"):
            return CallEstimate(Range(costs[0].low, below.high))
        if id == "conditional":
            return self._conditional(node, costs)
        if id in ("add_string", "add_bytes", "add_list"):
            return self._addition(node, id, below)
        return CallEstimate(ONE + below)

    def _conditional(self, node: Call, costs: list[Range]) -> CallEstimate:
        _, yes, no = node.args
        size = self._size_or_unknown(yes).union(self._size_or_unknown(no))
        self._join_entries(node, yes, no)
        return CallEstimate(costs[0] + costs[1].union(costs[2]), size)

    def _addition(self, node: Call, id: str, below: Range) -> CallEstimate:
        left, right = node.args
        size = self._size_or_unknown(left) + self._size_or_unknown(right)
        self._join_entries(node, left, right)
        own = ONE if id == "add_list" else size.scale(STRING_FACTOR)
        return CallEstimate(own + below, size)

    def _join_entries(self, node: Call, a: Node, b: Node) -> None:
        one, other = self._entries_of(a), self._entries_of(b)
        if one is not None and other is not None:
            self._entries[node.id] = _Entries(
                one.kind, one.keys.union(other.keys), one.values.union(other.values)
            )


def _is_scalar(found: Type) -> bool:
    inner, wrapped = unwrap_optional(found)
    return _is_scalar(inner) if wrapped else found.kind in _SCALARS
