"""Check the types of an expression, and find the overloads that its calls may refer to."""

# cel-go: checker/checker.go, checker/env.go, cel/validator.go

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mooring.cel import types
from mooring.cel.declarations import Overload
from mooring.cel.issues import Issue
from mooring.cel.patterns import TOO_LARGE_TOGETHER, PatternChecks, PatternError
from mooring.cel.syntax import (
    LOGICAL_AND,
    LOGICAL_OR,
    OPT_SELECT,
    Call,
    Comprehension,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
    children,
    qualified_name,
)
from mooring.cel.types import Substitutions, Type, TypeFault, is_dyn, unwrap_optional

_TYPE_NAMES: dict[str, Type] = {
    **{name: types.read_type(name) for name in ("bool", "bytes", "double", "int", "string")},
    "uint": types.UINT,
    "null_type": types.NULL,
    "list": types.read_type("list(A)"),
    "map": types.read_type("map(A, B)"),
    "google.protobuf.Duration": types.DURATION,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "type": Type("type", "type"),
}


class Declarations(msgspec.Struct, frozen=True):
    """What an expression may refer to: variables, fields of objects, functions."""

    variables: Mapping[str, Type]
    #: The fields of each type of object, by the name of the type.
    fields: Mapping[str, Mapping[str, Type]]
    functions: Mapping[str, tuple[Overload, ...]]


class Checked(msgspec.Struct):
    """The result of checking: types and overloads by node id."""

    types: dict[int, Type]
    overloads: dict[int, tuple[str, ...]]
    #: Functions whose name includes the target (`sets.contains`), by the id of the call.
    qualified: dict[int, str]
    #: Nodes that are the name of a type.
    type_names: dict[int, str]
    #: Variables that the expression reads.
    read: set[str]
    issues: list[Issue]
    #: The constant patterns.
    patterns: PatternChecks


def check(node: Node, declarations: Declarations) -> Checked:
    """Return the types of an expression and the errors found."""
    checker = _Checker(declarations)
    found = checker.found
    try:
        checker.check(node)
    except TypeFault as fault:
        found.issues.append(Issue(-1, str(fault)))
    for id in found.types:
        found.types[id] = checker.known.apply(found.types[id], unknown_is_dyn=True)
    if not found.issues:
        _check_patterns(node, found)
        _check_literals(node, found)
    return found


def _check_patterns(root: Node, found: Checked) -> None:
    """Report constant patterns that are invalid."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if isinstance(node, Call) and node.function == "matches" and node.args:
            given = node.args[0]
            if isinstance(given, Literal) and isinstance(given.value, str):
                try:
                    found.patterns.check(given.value)
                except PatternError as error:
                    too_large = str(error) == TOO_LARGE_TOGETHER
                    why = str(error) if too_large else "invalid matches argument"
                    found.issues.append(Issue(given.place, why))
                    if too_large:
                        return


def _check_literals(root: Node, found: Checked) -> None:
    """Report lists and maps with elements of different types, except in calls of `format`."""
    # cel-go: cel/validator.go (ValidateHomogeneousAggregateLiterals)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and node.function == "format":
            continue
        waiting += children(node)
        if isinstance(node, ListOf):
            _check_alike(
                [(one, place in node.optionals) for place, one in enumerate(node.elements)], found
            )
        elif isinstance(node, MapOf):
            # Each entry is compared with the first one, so that every entry that differs is
            # reported; for a list, only the first element that differs is.
            for entry in node.entries[1:]:
                _check_alike([(one.key, False) for one in (node.entries[0], entry)], found)
                both = [(one.value, one.optional) for one in (node.entries[0], entry)]
                _check_alike(both, found)


def _check_alike(elements: Sequence[tuple[Node, bool]], found: Checked) -> None:
    """Report the first of the (node, is optional) pairs whose type differs from the others."""
    expected = ""
    for node, optional in elements:
        full = found.types[node.id]
        actual = (unwrap_optional(full)[0] if optional else full).text
        expected = expected or actual
        if actual != expected:
            text = f"expected type '{expected}' but found '{actual}'"
            found.issues.append(Issue(node.place, text))
            return


class _Checker:
    def __init__(self, declarations: Declarations) -> None:
        self._declared = declarations
        self._scopes: list[dict[str, Type]] = []
        self._made = 0
        self.known = Substitutions()
        self.found = Checked({}, {}, {}, {}, set(), [], PatternChecks())

    # Tools.

    def _report(self, node: Node, message: str) -> None:
        self.found.issues.append(Issue(node.place, message))

    def _undeclared(self, node: Node, name: str) -> Type:
        self._report(node, f"undeclared reference to '{name}' (in container '')")
        return types.ERROR

    def _mismatch(self, node: Node, expected: Type, found: Type) -> None:
        self._report(node, f"expected type '{expected.text}' but found '{found.text}'")

    def _parameter(self) -> Type:
        self._made += 1
        return types.type_parameter(f"_var{self._made - 1}")

    def _assignable(self, given: Type, wanted: Type) -> bool:
        return self.known.assignable((given,), (wanted,))

    def _variable(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        found = self._declared.variables.get(name)
        if found is not None:
            self.found.read.add(name)
        return found

    # Nodes.

    def check(self, node: Node) -> Type:
        """Return the type of a node, after finding those of all nodes below it."""
        if isinstance(node, Call):
            found = self._call(node)
        elif isinstance(node, Select):
            found = self._select(node)
        elif isinstance(node, Ident):
            found = self._ident(node, node.name)
        elif isinstance(node, Literal):
            found = types.read_type(node.kind)
        elif isinstance(node, Comprehension):
            found = self._comprehension(node)
        elif isinstance(node, ListOf):
            found = self._list(node)
        else:
            found = self._map(node)
        self.found.types[node.id] = found
        return found

    def _ident(self, node: Node, name: str) -> Type:
        found = self._variable(name)
        if found is not None:
            return found
        if name in _TYPE_NAMES:
            self.found.type_names[node.id] = name
            return Type("type", "type", (_TYPE_NAMES[name],))
        return self._undeclared(node, name)

    def _select(self, node: Select) -> Type:
        name = None if node.test_only else qualified_name(node)
        if name is not None and name in _TYPE_NAMES:
            return self._ident(node, name)
        found = self._field(node, node.operand, node.field, optional=False)
        return types.BOOL if node.test_only else self.known.apply(found)

    def _field(self, node: Node, operand: Node, field: str, *, optional: bool) -> Type:
        holder, wrapped = unwrap_optional(self.known.apply(self.check(operand)))
        found = types.DYN
        if holder.kind == "map":
            found = holder.parameters[1]
        elif holder.kind == "struct":
            declared = self._declared.fields.get(holder.name, {}).get(field)
            if declared is None:
                self._report(node, f"undefined field '{field}'")
                declared = types.ERROR
            found = declared
        elif holder.kind == "param":
            self._assignable(types.DYN, holder)
        elif not is_dyn(holder) and holder.kind != "error":
            self._report(node, f"type '{holder.text}' does not support field selection")
        return types.optional_type(found) if wrapped or optional else found

    def _call(self, node: Call) -> Type:
        if node.function == OPT_SELECT:
            field = node.args[1]
            assert isinstance(field, Literal)
            found = self._field(node, node.args[0], field.value, optional=True)
            self.check(field)
            self.found.overloads[node.id] = ("select_optional_field",)
            return self.known.apply(found)
        given = [self.check(arg) for arg in node.args]
        declared = self._declared.functions
        if node.target is None:
            overloads = declared.get(node.function)
            if overloads is None:
                return self._undeclared(node, node.function)
            return self._resolve(node, node.function, overloads, None, given)
        prefix = qualified_name(node.target)
        if prefix is not None and (name := f"{prefix}.{node.function}") in declared:
            self.found.qualified[node.id] = name
            return self._resolve(node, name, declared[name], None, given)
        target = self.check(node.target)
        overloads = declared.get(node.function)
        if overloads is None:
            return self._undeclared(node, node.function)
        return self._resolve(node, node.function, overloads, target, given)

    def _resolve(
        self,
        node: Call,
        name: str,
        overloads: tuple[Overload, ...],
        target: Type | None,
        args: list[Type],
    ) -> Type:
        if name in (LOGICAL_AND, LOGICAL_OR):
            return self._junction(node, overloads[0].id, args)
        given = args if target is None else [target, *args]
        result: Type | None = None
        ids: list[str] = []
        for overload in overloads:
            if overload.member is (target is None):
                continue
            if len(overload.arguments) != len(given):
                continue
            wanted, produced = overload.arguments, overload.result
            if overload.parameters:
                fresh = {name: self._parameter() for name in overload.parameters}
                wanted = tuple([_rename(one, fresh) for one in wanted])
                produced = _rename(produced, fresh)
            if not self.known.assignable(given, wanted):
                continue
            ids.append(overload.id)
            found = self.known.apply(produced)
            if result is None:
                result = found
            elif not is_dyn(result) and found != result:
                result = types.DYN
        if result is None:
            texts = [self.known.apply(one, unknown_is_dyn=True).text for one in given]
            shown = f"({', '.join(texts)})"
            if target is not None:
                shown = f"{texts[0]}.({', '.join(texts[1:])})"
            self._report(node, f"found no matching overload for '{name}' applied to '{shown}'")
            return types.ERROR
        self.found.overloads[node.id] = tuple(ids)
        return result

    def _junction(self, node: Call, id: str, given: list[Type]) -> Type:
        failed = False
        for arg, found in zip(node.args, given, strict=True):
            if not self._assignable(found, types.BOOL):
                self._mismatch(arg, types.BOOL, found)
                failed = True
        if failed:
            return types.ERROR
        self.found.overloads[node.id] = (id,)
        return types.BOOL

    def _list(self, node: ListOf) -> Type:
        joined: Type | None = None
        for place, element in enumerate(node.elements):
            found = self.check(element)
            if place in node.optionals:
                found = self._optional(element, found)
            joined = self._join(element, joined, found)
        return types.list_type(self._parameter() if joined is None else joined)

    def _map(self, node: MapOf) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            keys = self._join(entry.key, keys, self.check(entry.key))
            found = self.check(entry.value)
            if entry.optional:
                found = self._optional(entry.value, found)
            values = self._join(entry.value, values, found)
        if keys is None or values is None:
            return types.map_type(self._parameter(), self._parameter())
        return types.map_type(keys, values)

    def _optional(self, node: Node, found: Type) -> Type:
        inner, wrapped = unwrap_optional(found)
        if not wrapped and not is_dyn(found):
            self._mismatch(node, types.optional_type(found), found)
        return inner

    def _join(self, node: Node, before: Type | None, found: Type) -> Type:
        if before is None:
            return found
        if self._assignable(before, found):
            return types.most_general(before, found)
        # `_check_literals` reports the mismatch, unless it is allowed where the literal stands.
        return types.DYN

    def _comprehension(self, node: Comprehension) -> Type:
        source = self.known.apply(self.check(node.range))
        gathered = self.check(node.init)
        first, second = types.DYN, types.DYN
        if source.kind == "list":
            first, second = source.parameters[0], source.parameters[0]
            if node.second:
                first = types.INT
        elif source.kind == "map":
            first, second = source.parameters
        elif source.kind in ("dyn", "any", "error", "param"):
            self._assignable(types.DYN, source)
        else:
            self._report(
                node.range,
                f"expression of type '{source.text}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
            first = second = types.ERROR
        self._scopes.append({node.accumulator: gathered})
        inner = {node.variable: first}
        if node.second:
            inner[node.second] = second
        self._scopes.append(inner)
        self._assert(node.condition, self.check(node.condition), types.BOOL)
        self._assert(node.step, self.check(node.step), gathered)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return self.known.apply(result)

    def _assert(self, node: Node, found: Type, wanted: Type) -> None:
        if not self._assignable(wanted, found):
            self._mismatch(node, wanted, found)


def _rename(found: Type, names: dict[str, Type]) -> Type:
    if not found.free:
        return found
    if found.kind == "param":
        return names[found.text]
    return Type(found.kind, found.name, tuple([_rename(one, names) for one in found.parameters]))
