"""Types, with the sizes that their values can have."""

# apiserver: pkg/cel/types.go

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mooring.cel.call_estimates import Sizes
from mooring.cel.estimates import Range
from mooring.cel.types import Type, list_type, map_type, struct_type


class Declared(msgspec.Struct, frozen=True):
    """A type, the most elements or characters of its values, and the types inside it."""

    type: Type
    max_elements: int = 0
    #: The smallest number of bytes of a value in JSON.
    min_size: int = 0
    fields: Mapping[str, Declared] | None = None
    key: Declared | None = None
    element: Declared | None = None


def declared_list(element: Declared, max_elements: int) -> Declared:
    """Return the declared type of lists of elements."""
    return Declared(list_type(element.type), max_elements, 2, element=element)


def declared_map(key: Declared, element: Declared, max_elements: int) -> Declared:
    """Return the declared type of maps."""
    return Declared(map_type(key.type, element.type), max_elements, 2, key=key, element=element)


def declared_object(name: str, fields: Mapping[str, Declared], min_size: int = 2) -> Declared:
    """Return the declared type of objects with these fields."""
    return Declared(struct_type(name), 0, min_size, fields=fields)


def object_fields(root: Declared) -> dict[str, dict[str, Type]]:
    """Return the fields of all object types inside a type, by the name of the object type."""
    found: dict[str, dict[str, Type]] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        waiting += [inner for inner in (one.key, one.element) if inner is not None]
        if one.fields is not None:
            found[one.type.name] = {name: field.type for name, field in one.fields.items()}
            waiting += one.fields.values()
    return found


def sizes_below(root: Declared, variable: str = "", any_key: Declared | None = None) -> Sizes:
    """Return a function that gives the possible sizes of the value at a path below a variable.

    Without a variable, every path starts at the root, whatever its first name, as in validation
    rules. A map whose elements are of the type `any_key` has every name as a key.
    """

    def sizes(path: tuple[str, ...]) -> Range | None:
        if not path or (variable and path[0] != variable):
            return None
        found: Declared | None = root
        for name in path[1:]:
            if found is None:
                return None
            if name in ("@items", "@values"):
                found = found.element
            elif name == "@keys":
                found = found.key
            elif found.fields is not None and name in found.fields:
                found = found.fields[name]
            elif any_key is not None and found.element is any_key:
                found = any_key
            else:
                return None
        return None if found is None else Range(0, found.max_elements)

    return sizes
