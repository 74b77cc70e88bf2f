"""Sets of field paths, stored in managedFields as FieldsV1.

A path element has the form that it has in FieldsV1: `f:name` is a field, `k:{"name":"a"}` a list
item by its keys, `v:"x"` a list item by its value. A set is a tree: a node has members, and
children by element. An element may be both a member and a child.
"""

# sigs.k8s.io/structured-merge-diff: fieldpath/set.go, serialize.go

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mooring.api.go_format import go_json

_SELF = "."
Path = tuple[str, ...]


class FieldSet:
    """A set of field paths. No child is empty.

    Operations return sets that may share parts with their arguments; only `insert` and `node`
    change a set in place.
    """

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.children: dict[str, FieldSet] = {}

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """Return a set of paths."""
        result = cls()
        for path in paths:
            result.insert(path)
        return result

    @classmethod
    def from_fields(cls, fields: Any) -> FieldSet:
        """Return the set in FieldsV1; anything but an object counts as empty."""
        result = cls()
        if isinstance(fields, dict):
            for element, inner in fields.items():
                if element == _SELF:
                    continue
                child = cls.from_fields(inner)
                if not isinstance(inner, dict) or not inner or _SELF in inner:
                    result.members.add(element)
                if not child.empty():
                    result.children[element] = child
        return result

    def to_fields(self) -> dict[str, Any]:
        """Return the set as FieldsV1."""
        fields: dict[str, Any] = {}
        for element in sorted(self.members | self.children.keys()):
            child = self.children.get(element)
            if child is None:
                fields[element] = {}
            else:
                inner = child.to_fields()
                fields[element] = {_SELF: {}, **inner} if element in self.members else inner
        return fields

    def insert(self, path: Path) -> None:
        """Add a path; the empty path, which is the object itself, is ignored."""
        if path:
            self.node(path[:-1]).members.add(path[-1])

    def node(self, path: Path) -> FieldSet:
        """Return the node at a path, creating it; the caller must remove it if it stays empty."""
        node = self
        for element in path:
            child = node.children.get(element)
            if child is None:
                child = node.children[element] = FieldSet()
            node = child
        return node

    def empty(self) -> bool:
        """Return whether the set has no path."""
        return not self.members and not self.children

    def has(self, path: Path) -> bool:
        """Return whether a path is a member."""
        node: FieldSet | None = self
        for element in path[:-1]:
            node = node.children.get(element) if node is not None else None
        return node is not None and path[-1] in node.members

    def child(self, element: str) -> FieldSet:
        """Return the paths below an element."""
        return self.children.get(element) or FieldSet()

    def _with(self, members: set[str], children: Iterator[tuple[str, FieldSet]]) -> FieldSet:
        result = FieldSet()
        result.members = members
        result.children = {element: child for element, child in children if not child.empty()}
        return result

    def union(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in either set."""
        if self.empty():
            return other
        if other.empty():
            return self
        return self._with(
            self.members | other.members,
            (
                (element, self.child(element).union(other.child(element)))
                for element in {**self.children, **other.children}
            ),
        )

    def intersection(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in both sets."""
        if self.empty() or other.empty():
            return FieldSet()
        return self._with(
            self.members & other.members,
            (
                (element, child.intersection(other.children[element]))
                for element, child in self.children.items()
                if element in other.children
            ),
        )

    def difference(self, other: FieldSet) -> FieldSet:
        """Return the paths that are not in the other set."""
        if self.empty() or other.empty():
            return self
        return self._with(
            self.members - other.members,
            (
                (element, child.difference(other.child(element)))
                for element, child in self.children.items()
            ),
        )

    def without(self, other: FieldSet) -> FieldSet:
        """Return the paths that are neither in the other set nor below one of its paths."""
        if self.empty() or other.empty():
            return self
        return self._with(
            self.members - other.members,
            (
                (element, child.without(other.child(element)))
                for element, child in self.children.items()
                if element not in other.members
            ),
        )

    def paths(self) -> Iterator[Path]:
        """Yield every path: the sorted members of a node, then the paths below it."""
        for element in sorted(self.members):
            yield (element,)
        for element in sorted(self.children):
            for path in self.children[element].paths():
                yield (element, *path)


def path_text(path: Path) -> str:
    """Return a path as conflict messages show it: `.spec.containers[name="c"].image`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    """Return one element of a path as conflict messages show it."""
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = json.loads(rest)
        return f"[{','.join(f'{name}={go_json(keys[name])}' for name in sorted(keys))}]"
    if kind == "v":
        return f"[={rest}]"
    return f"[{rest}]"
