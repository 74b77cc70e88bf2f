"""Sets of field paths, as managedFields has them: FieldsV1.

A path element is kept in the form that FieldsV1 gives it: `f:name` a field, `k:{"name":"a"}` a list
item by its keys, `v:"x"` a list item by its value. A set is a tree: the members of a node, and its
children by element. An element may be both.
"""

# sigs.k8s.io/structured-merge-diff: fieldpath/set.go, serialize.go

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_SELF = "."
Path = tuple[str, ...]


class FieldSet:
    """Hold a set of paths. No child is empty.

    Operations return sets that may share parts with their arguments; only `insert` and `node`
    change one.
    """

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[str] = set()
        self.children: dict[str, FieldSet] = {}

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """Make a set of paths."""
        result = cls()
        for path in paths:
            result.insert(path)
        return result

    @classmethod
    def from_fields(cls, fields: Any) -> FieldSet:
        """Read FieldsV1; what is no object counts as empty."""
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
        """Return FieldsV1."""
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
        """Add a path; the empty path, the object itself, is no member of any set."""
        if path:
            self.node(path[:-1]).members.add(path[-1])

    def node(self, path: Path) -> FieldSet:
        """Return the paths below a path, to add some; whoever adds none must take it out again."""
        node = self
        for element in path:
            child = node.children.get(element)
            if child is None:
                child = node.children[element] = FieldSet()
            node = child
        return node

    def empty(self) -> bool:
        """Tell whether the set has no path."""
        return not self.members and not self.children

    def has(self, path: Path) -> bool:
        """Tell whether a path is a member."""
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
        """Return the paths of either."""
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
        """Return the paths of both."""
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
        """Return the paths that the other has not."""
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
        """Return the paths that are neither in the other nor below one of its paths."""
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
        """Yield every path: a node's members in order, then those below it."""
        for element in sorted(self.members):
            yield (element,)
        for element in sorted(self.children):
            for path in self.children[element].paths():
                yield (element, *path)


def compact(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def path_text(path: Path) -> str:
    """Print a path as conflicts show it: `.spec.containers[name="c"].image`."""
    return "".join(map(element_text, path))


def element_text(element: str) -> str:
    """Print one element of a path."""
    kind, _, rest = element.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        keys = json.loads(rest)
        return f"[{','.join(f'{name}={compact(keys[name])}' for name in sorted(keys))}]"
    if kind == "v":
        return f"[={rest}]"
    return f"[{rest}]"
