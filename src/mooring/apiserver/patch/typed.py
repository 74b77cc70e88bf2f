"""Operations on typed values: the fields they set, their differences, merging and removal.

The walks follow structured-merge-diff. A value has one of three shapes: a leaf (a scalar, or a
value that has one owner as a whole), a map, or a list whose items have keys.
"""

# sigs.k8s.io/structured-merge-diff: typed/{tofieldset,compare,merge,remove,validate,helpers}.go

from __future__ import annotations

from collections import Counter, deque
from typing import Any, Final

import msgspec

from mooring.api.go_format import go_json, go_quote_all, go_syntax, go_text, go_type
from mooring.apiserver.patch.field_set import FieldSet, Path, element_text
from mooring.controlplane.type_table import (
    ANY,
    FLOATS,
    INTEGERS,
    LIST,
    MAP,
    STRUCT,
    Field,
    TypeKind,
)

#: An absent value, as opposed to null.
MISSING: Final[Any] = object()

UNKNOWN_FIELD = "field not declared in schema"

_RAW = frozenset({"object", "fields", "json", "schemaOrArray", "schemaOrBool", "schemaOrStrings"})
_UNTYPED = TypeKind(ANY)
_NUMBERS = INTEGERS | FLOATS
_TEXTS = frozenset({"string", "bytes"})
_NESTED = frozenset({STRUCT, LIST, MAP})
_LEAF, _LIST, _MAP = "leaf", "list", "map"


class TypedError(Exception):
    """The error for a value that does not fit its type."""


def field_kind(kind: TypeKind, name: str) -> tuple[TypeKind | None, bool]:
    """Return the kind of a map's entry, and whether the type declares it as a field."""
    if kind.form == STRUCT and kind.type is not None:
        field = kind.type.fields.get(name)
        if field is not None:
            return field.kind, True
        return (_UNTYPED if kind.type.preserve else None), False
    if kind.form == MAP:
        return kind.item, False
    return _UNTYPED, False


def _shape(kind: TypeKind, value: Any) -> str:
    form = kind.form
    if form == LIST:
        return _LIST
    if form in (STRUCT, MAP):
        return _MAP
    if form in _RAW:
        return _LEAF
    if form == ANY:
        if isinstance(value, dict) or value is None or value is MISSING:
            return _MAP
        return _LIST if isinstance(value, list) else _LEAF
    return _LEAF


def _is_leaf_list(kind: TypeKind) -> bool:
    return kind.form != LIST or kind.list_type == "atomic"


def _item_kind(kind: TypeKind) -> TypeKind:
    return kind.item if kind.item is not None else _UNTYPED


def _key_default(kind: TypeKind, name: str) -> Any:
    """Return the default of a key that a list item omits, MISSING if there is none."""
    inner = kind.item
    field: Field | None = None
    if inner is not None and inner.type is not None:
        field = inner.type.fields.get(name)
    if field is None:
        return MISSING
    if field.default is not None:
        return field.default
    if field.always and not field.kind.pointer:
        zero = {"string": "", "int32": 0, "int64": 0, "bool": False}.get(field.kind.form)
        return MISSING if zero is None else zero
    return MISSING


def element_of(kind: TypeKind, item: Any) -> str:
    """Return the path element of an item of an associative list."""
    if not kind.keys:
        if isinstance(item, dict):
            raise TypedError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise TypedError("not supported: associative list with lists as elements")
        if item is None:
            raise TypedError("associative list without keys has an element that's an explicit null")
        return f"v:{go_json(item)}"
    if item is None:
        raise TypedError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise TypedError("associative list with keys may not have non-map elements")
    found = {}
    for name in sorted(kind.keys):
        value = item[name] if name in item else _key_default(kind, name)
        if value is not MISSING:
            found[name] = value
    if not found:
        raise TypedError(
            f"associative list with keys has an element that omits all key fields "
            f"{go_quote_all(kind.keys)} "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{go_json(found)}"


# -- validation ---------------------------------------------------------------------------


def problems(kind: TypeKind, value: Any, *, duplicates: bool = False) -> list[str]:
    """Return why a value does not fit its type; empty if it does."""
    found: list[str] = []
    _validate(kind, value, "", found, duplicates)
    return found


def _validate(kind: TypeKind, value: Any, path: str, found: list[str], duplicates: bool) -> None:
    prefix = f"{path}: " if path else ""
    shape = _shape(kind, value)
    if shape == _LEAF:
        if (why := _scalar_problem(kind, value)) is not None:
            found.append(prefix + why)
    elif value is None:
        return
    elif shape == _LIST:
        if not isinstance(value, list):
            found.append(f"{prefix}expected list, got &{{{go_text(value)}}}")
        else:
            _validate_list(kind, value, path, found, duplicates)
    elif not isinstance(value, dict):
        found.append(f"{prefix}expected map, got &{{{go_text(value)}}}")
    else:
        for name, item in value.items():
            inner, _ = field_kind(kind, name)
            if inner is None:
                found.append(f"{path}.{name}: {UNKNOWN_FIELD}")
                return
            _validate(inner, item, f"{path}.{name}", found, duplicates)


def _validate_list(
    kind: TypeKind, value: list[Any], path: str, found: list[str], duplicates: bool
) -> None:
    seen: set[str] = set()
    for i, item in enumerate(value):
        where = f"[{i}]"
        if not _is_leaf_list(kind):
            try:
                element = element_of(kind, item)
            except TypedError as error:
                found.append(f"{path}: element {i}: {error}")
                return
            where = element_text(element)
            if element in seen and not duplicates:
                found.append(f"{path}: duplicate entries for key {where}")
            seen.add(element)
        _validate(_item_kind(kind), item, path + where, found, duplicates)


def _scalar_problem(kind: TypeKind, value: Any) -> str | None:
    form = kind.form
    if value is None or form in _RAW or form == ANY:
        return None
    if form in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {go_type(value)}"
    elif form in _TEXTS:
        if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    elif form == "bool":
        if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_text(value)}}}"
    elif isinstance(value, dict | list):
        return f"expected any scalar, got &{{{go_text(value)}}}"
    return None


# -- the fields of a value ----------------------------------------------------------------


def field_set(kind: TypeKind, value: Any) -> FieldSet:
    """Return the fields that a value sets."""
    result = FieldSet()
    _collect(kind, value, (), result)
    return result


def _collect(kind: TypeKind, value: Any, path: Path, result: FieldSet) -> None:
    shape = _shape(kind, value)
    if shape == _LEAF or (shape == _MAP and kind.atomic):
        result.insert(path)
    elif shape == _LIST:
        if _is_leaf_list(kind):
            result.insert(path)
        elif isinstance(value, list):
            _collect_list(kind, value, path, result)
    elif isinstance(value, dict):
        for name, item in value.items():
            inner, declared = field_kind(kind, name)
            if inner is None:
                continue
            below = (*path, f"f:{name}")
            _collect(inner, item, below, result)
            if item is None or item == {} or not declared:
                result.insert(below)


def _collect_list(kind: TypeKind, value: list[Any], path: Path, result: FieldSet) -> None:
    elements = [element_of(kind, item) for item in value]
    counts = Counter(elements)
    for element, item in zip(elements, value, strict=True):
        below = (*path, element)
        if counts[element] == 1:
            _collect(_item_kind(kind), item, below, result)
        result.insert(below)


# -- comparison ---------------------------------------------------------------------------


class Comparison(msgspec.Struct):
    """The differences between an old and a new value."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def without(self, fields: FieldSet) -> Comparison:
        """Return the comparison without the given fields and everything below them."""
        return Comparison(
            self.added.without(fields), self.modified.without(fields), self.removed.without(fields)
        )


def compare(kind: TypeKind, old: Any, new: Any) -> Comparison:
    """Return the differences between two values of a kind."""
    result = Comparison(FieldSet(), FieldSet(), FieldSet())
    _compare(kind, old, new, (), result)
    return result


def _compare(kind: TypeKind, old: Any, new: Any, path: Path, result: Comparison) -> None:
    if old is new or (kind.form in _NESTED and old == new):
        return
    if old is MISSING and path:
        _add(kind, new, result.added.node(path[:-1]), path[-1])
        return
    before, after = _shape(kind, old), _shape(kind, new)
    if new is MISSING:
        leaf = _compare_as(before, kind, old, new, path, result)
    else:
        if old is not MISSING and before != after:
            _compare_as(before, kind, old, new, path, result)
        leaf = _compare_as(after, kind, old, new, path, result)
    if not leaf:
        if old is MISSING:
            result.added.insert(path)
        elif new is MISSING:
            result.removed.insert(path)


def _add(kind: TypeKind, value: Any, parent: FieldSet, element: str) -> None:
    """Add a new value and everything in it to the set."""
    parent.members.add(element)
    shape = _shape(kind, value)
    if shape == _LEAF:
        return
    atomic = _is_leaf_list(kind) if shape == _LIST else kind.atomic
    parts = _parts(shape, value)
    if atomic or not parts:
        return
    node = parent.node((element,))
    if shape == _LIST:
        inner = _item_kind(kind)
        for name, items in _grouped(kind, parts).items():
            if len(items) > 1:
                node.members.add(name)
            else:
                _add(inner, items[0], node, name)
    else:
        for name, item in parts.items():
            found, _ = field_kind(kind, name)
            if found is not None:
                _add(found, item, node, f"f:{name}")
    if node.empty():
        del parent.children[element]


def _compare_as(
    shape: str, kind: TypeKind, old: Any, new: Any, path: Path, result: Comparison
) -> bool:
    """Compare as one shape; return whether it was a leaf."""
    left, right = _parts(shape, old), _parts(shape, new)
    atomic = _is_leaf_list(kind) if shape == _LIST else kind.atomic
    if shape == _LEAF or atomic or (not left and not right):
        if old is MISSING:
            result.added.insert(path)
        elif new is MISSING:
            result.removed.insert(path)
        elif not _same(old, new):
            result.modified.insert(path)
        return True
    if shape == _LIST:
        _compare_lists(kind, left or [], right or [], path, result)
        return False
    for name in {**(left or {}), **(right or {})}:
        inner, _ = field_kind(kind, name)
        if inner is None:
            continue
        old_item = left.get(name, MISSING) if left is not None else MISSING
        new_item = right.get(name, MISSING) if right is not None else MISSING
        _compare(inner, old_item, new_item, (*path, f"f:{name}"), result)
    return False


def _grouped(kind: TypeKind, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(element_of(kind, item), []).append(item)
    return found


def _compare_lists(
    kind: TypeKind, old: list[Any], new: list[Any], path: Path, result: Comparison
) -> None:
    left, right = _grouped(kind, old), _grouped(kind, new)
    inner = _item_kind(kind)
    for element in {**left, **right}:
        before, after = left.get(element, []), right.get(element, [])
        below = (*path, element)
        if len(before) <= 1 and len(after) <= 1:
            old_item = before[0] if before else MISSING
            new_item = after[0] if after else MISSING
            _compare(inner, old_item, new_item, below, result)
        elif len(before) > 1 and len(after) > 1:
            if before != after:
                result.modified.insert(below)
        elif len(before) > 1:
            if after:
                _compare(inner, MISSING, after[0], below, result)
            result.removed.insert(below)
        else:
            if before:
                _compare(inner, before[0], MISSING, below, result)
            result.added.insert(below)


def _parts(shape: str, value: Any) -> Any:
    """Return the value if it is a list or a dict, as the shape says, else None."""
    return value if isinstance(value, list if shape == _LIST else dict) else None


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) is not isinstance(right, bool):
        return False
    return bool(left == right)


# -- merging ------------------------------------------------------------------------------


def merge(kind: TypeKind, live: Any, config: Any) -> Any:
    """Return the live value with the applied one merged into it."""
    result = _merge(kind, live, config)
    return None if result is MISSING else result


def _merge(kind: TypeKind, live: Any, config: Any) -> Any:
    if config is MISSING:
        return live
    shape = _shape(kind, config)
    left, right = _parts(shape, live), _parts(shape, config)
    atomic = _is_leaf_list(kind) if shape == _LIST else kind.atomic
    if shape == _LEAF or atomic or (not left and not right):
        return config
    if shape == _LIST:
        return _merge_lists(kind, left or [], right or []) or MISSING
    merged = {}
    for name in {**(left or {}), **(right or {})}:
        inner, _ = field_kind(kind, name)
        old = left.get(name, MISSING) if left is not None else MISSING
        new = right.get(name, MISSING) if right is not None else MISSING
        value = _merge(inner or _UNTYPED, old, new)
        if value is not MISSING:
            merged[name] = value
    return merged or MISSING


def _merge_lists(kind: TypeKind, live: list[Any], config: list[Any]) -> list[Any]:
    """Merge items by their keys; applied items take the applied order, others keep their place."""
    left = [element_of(kind, item) for item in live]
    right = [element_of(kind, item) for item in config]
    old = {element: item for element, item in zip(left, live, strict=True)}
    for element, count in Counter(left).items():
        if count > 1:
            old[element] = None  # a duplicated item is replaced, not merged with
    new = dict(zip(right, config, strict=True))
    shared = deque(element for element in right if element in old)
    inner = _item_kind(kind)
    merged: list[Any] = []
    done: set[str] = set()
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right):
            if left[i] == right[j]:
                _take(merged, _merge(inner, old[left[i]], new[right[j]]))
                done.add(right[j])
                if shared:
                    shared.popleft()
                i, j = i + 1, j + 1
                continue
            if left[i] in new and shared and shared[0] != left[i]:
                i += 1
                continue
        if i < len(left):
            if left[i] not in new:
                _take(merged, live[i])
                i += 1
                continue
            if left[i] in done:
                i += 1
        if j < len(right):
            element = right[j]
            done.add(element)
            _take(merged, _merge(inner, old.get(element, MISSING), new[element]))
            j += 1
            if shared and shared[0] == element:
                shared.popleft()
    return merged


def _take(merged: list[Any], value: Any) -> None:
    if value is not MISSING:
        merged.append(value)


# -- removal ------------------------------------------------------------------------------


def remove(kind: TypeKind, value: Any, fields: FieldSet) -> Any:
    """Return a value without the given fields, None if nothing is left."""
    shape = _shape(kind, value)
    if shape == _LEAF:
        return value
    if shape == _LIST:
        if not isinstance(value, list) or not value or _is_leaf_list(kind):
            return None
        return _remove_items(kind, value, fields) or None
    if not isinstance(value, dict) or not value or kind.atomic:
        return None
    kept = {}
    for name, item in value.items():
        element = f"f:{name}"
        if element in fields.members:
            continue
        below = fields.child(element)
        inner, _ = field_kind(kind, name)
        kept[name] = item if below.empty() else remove(inner or _UNTYPED, item, below)
    return kept or None


def _remove_items(kind: TypeKind, value: list[Any], fields: FieldSet) -> list[Any]:
    kept = []
    for item in value:
        element = element_of(kind, item)
        if element in fields.members:
            continue
        below = fields.child(element)
        kept.append(item if below.empty() else remove(_item_kind(kind), item, below))
    return kept


def with_named_fields(kind: TypeKind | None, fields: FieldSet) -> FieldSet:
    """Return the set with every declared field that is a parent of a member added."""
    result = FieldSet()
    result.members = set(fields.members)
    for element, child in fields.children.items():
        inner: TypeKind | None = None
        if kind is not None and element.startswith("f:"):
            if _shape(kind, MISSING) == _MAP:
                inner, declared = field_kind(kind, element[2:])
                if declared:
                    result.members.add(element)
        elif kind is not None:
            inner = kind.item
        result.children[element] = with_named_fields(inner, child)
    return result
