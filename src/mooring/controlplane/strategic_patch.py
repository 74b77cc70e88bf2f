"""Strategic merge patch: lists merge by the keys of their items, and `$` fields are directives.

The patch is merged into a copy of the object in kube-apiserver's order: `$patch` of the map itself,
`$retainKeys`, the lists that `$setElementOrder/…` names, then the other fields.
"""

# apimachinery: pkg/util/strategicpatch/patch.go

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mooring.api.go_format import go_text, go_type
from mooring.controlplane.type_table import Field, StructType, types
from mooring.errors import ApiError

Object = dict[str, Any]

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder"
DELETE_FROM = "$deleteFromPrimitiveList"

_DELETE, _REPLACE, _MERGE = "delete", "replace", "merge"

BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
BAD_PRIMITIVE_LIST = "invalid patch format of primitive list"
BAD_ORDER = "invalid patch format of setElementOrder list"
MERGING_LISTS = "merging lists cannot yet be specified in the patch"
UNPROCESSABLE = "the server rejected our request due to an error in our request"
NOT_STRATEGIC = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
)


def apply_strategic_patch(type: StructType | None, document: Object, patch: Object) -> Object:
    """Return a patched copy of an object; what the patch does not touch is shared.

    A patch that cannot be applied raises ApiError.
    """
    return _merge_map(document, patch, type)


def patched(document: Object, patch: Object) -> Object:
    """Return a patched copy of an object with `apiVersion` and `kind`.

    Custom resources do not support strategic merge patches, which raises ApiError.
    """
    type = types().find(document["apiVersion"], document["kind"])
    if type is None:
        raise ApiError(415, NOT_STRATEGIC, reason="UnsupportedMediaType")
    return apply_strategic_patch(type, document, patch)


def _bad_request(message: str) -> ApiError:
    return ApiError(400, message, reason="BadRequest")


def _failure(message: str) -> ApiError:
    """Return the error of a malformed patch, which is a plain Go error in kube-apiserver."""
    return ApiError(400, message)


def _no_merge_key(item: Any, key: str) -> ApiError:
    return _failure(f"map: {go_text(item)} does not contain declared merge key: {key}")


def _bad_directive(directive: Any, patch: Object) -> ApiError:
    return _failure(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def _wrong_argument(expected: str, value: Any) -> ApiError:
    # The patch is decoded by encoding/json, which makes every number a float64.
    received = "float64" if value.__class__ is int else go_type(value)
    return _failure(f"expected a {expected}, but received a {received}")


def _field(type: StructType | None, name: str) -> Field | None:
    return type.fields.get(name) if type is not None else None


def _inner(field: Field | None) -> StructType | None:
    kind = field.kind if field is not None else None
    while kind is not None and kind.item is not None:
        kind = kind.item
    return kind.type if kind is not None else None


def _merge_map(original: Object, patch: Object, type: StructType | None) -> Object:
    if DIRECTIVE in patch:
        return _directive(patch)
    original, patch = dict(original), dict(patch)
    _retain_keys(original, patch)
    for key in [key for key in patch if key.startswith(SET_ORDER)]:
        _merge_ordered(original, patch, key, type)
    for key, value in patch.items():
        deleting = key.startswith(DELETE_FROM)
        if deleting:
            prefix, _, key = key.partition("/")
            if prefix != DELETE_FROM or not key:
                raise _bad_request(BAD_PRIMITIVE_LIST)
        if value is None:
            original.pop(key, None)
            continue
        if key not in original or original[key].__class__ is not value.__class__:
            if not deleting:
                _take(original, key, value)
            continue
        field = _field(type, key)
        if isinstance(value, dict):
            strategies = field.strategies if field is not None else ()
            if _REPLACE in strategies:
                original[key] = value
            else:
                inner = _inner(field) if field is None or field.kind.form != "map" else None
                original[key] = _merge_map(original[key], value, inner)
        elif isinstance(value, list):
            original[key] = _merge_list(original[key], value, field, deleting)
        else:
            original[key] = value
    return original


def _take(original: Object, key: str, value: Any) -> None:
    """Set a field that is new or changes its type, without directives and nulls."""
    kept, found = _strip(_discard_nulls(value))
    if found:
        original[key] = kept
    else:
        original.pop(key, None)


def _directive(patch: Object) -> Object:
    directive = patch[DIRECTIVE]
    if directive == _REPLACE:
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == _DELETE:
        return {}
    raise _bad_directive(directive, patch)


def _retain_keys(original: Object, patch: Object) -> None:
    if RETAIN_KEYS not in patch:
        return
    kept = patch.pop(RETAIN_KEYS)
    if not isinstance(kept, list):
        raise _bad_request(BAD_RETAIN_KEYS)
    names = {name for name in kept if isinstance(name, str)}
    for key, value in patch.items():
        if value is None or key.startswith((DELETE_FROM, SET_ORDER)):
            continue
        if key not in names:
            raise _bad_request(BAD_RETAIN_KEYS)
    for key in [key for key in original if key not in names]:
        del original[key]


def _merge_ordered(original: Object, patch: Object, key: str, type: StructType | None) -> None:
    """Merge one list and sort it as the patch's `$setElementOrder` says."""
    order = patch.pop(key)
    if not isinstance(order, list):
        raise _wrong_argument("[]interface {}", order)
    prefix, _, name = key.partition("/")
    if prefix != SET_ORDER or not name:
        raise _bad_request(BAD_ORDER)
    live, changes = original.get(name), patch.get(name)
    for value in (live, changes):
        if value is not None and not isinstance(value, list):
            raise _wrong_argument("[]interface {}", value)
    field = _field(type, name)
    if field is None:
        where = type.name if type is not None else ""
        raise _failure(f'unable to find api field in struct {where} for the json field "{name}"')
    merge_key = field.merge_key
    _check_order(changes or [], order, merge_key)
    if live is None and changes is None:
        return
    if live is None:
        merged = _strip(changes)[0]
    elif changes is None:
        merged = live
    else:
        merged = _merge_list(live, changes, field, deleting=False)
    _element_kind(live or [], changes or [])
    wanted = {_identity(item, merge_key) for item in order}
    named = [item for item in merged if _identity(item, merge_key) in wanted]
    others = [item for item in merged if _identity(item, merge_key) not in wanted]
    original[name] = _ordered(named, others, order, live or [], merge_key)
    patch.pop(name, None)


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    if not order or not changes:
        return
    kept = [item for item in changes if not (isinstance(item, dict) and DIRECTIVE in item)]
    at = 0
    for item in order:
        if at < len(kept) and _key_of(kept[at], merge_key) == _key_of(item, merge_key):
            at += 1
    if at < len(kept):
        raise _failure(
            f"The order in patch list:\n{go_text(changes)}\n doesn't match {SET_ORDER} list:\n"
            f"{go_text(order)}\n"
        )


def _key_of(item: Any, merge_key: str) -> Any:
    if not merge_key:
        return item
    if not isinstance(item, dict):
        raise _wrong_argument("map[string]interface {}", item)
    if merge_key not in item:
        raise _no_merge_key(item, merge_key)
    return item[merge_key]


def _identity(item: Any, merge_key: str) -> tuple[str, Any]:
    """Return a hashable identity of a list item; a boolean never equals a number."""
    key = _key_of(item, merge_key)
    if isinstance(key, dict | list):
        return ("", repr(key))
    return (key.__class__.__name__, key)


def _comparable(key: Any) -> Hashable:
    """Return a hashable value that is equal for equal merge keys."""
    if isinstance(key, dict):
        return frozenset((name, _comparable(value)) for name, value in key.items())
    if isinstance(key, list):
        return tuple(map(_comparable, key))
    found: Hashable = key
    return found


def _element_kind(*lists: list[Any]) -> type | None:
    kind: type | None = None
    for items in lists:
        for item in items:
            if isinstance(item, list):
                raise ApiError(422, UNPROCESSABLE, reason="Invalid")
            found = float if isinstance(item, int | float) else item.__class__
            if kind is not None and found is not kind:
                raise _failure(f"list element types are not identical: {go_text(list(lists))}")
            kind = found
    return kind


def _merge_list(live: list[Any], changes: list[Any], field: Field | None, deleting: bool) -> Any:
    strategies = field.strategies if field is not None else ()
    if not deleting and _MERGE not in strategies:
        return changes
    if not live and not changes:
        return live
    merge_key = field.merge_key if field is not None else ""
    if _element_kind(live, changes) is not dict:
        gone = {_identity(item, "") for item in changes}
        if deleting:
            return [item for item in live if _identity(item, "") not in gone]
        merged = list({_identity(item, ""): item for item in (*live, *changes)}.values())
        named = [item for item in merged if _identity(item, "") in gone]
        others = [item for item in merged if _identity(item, "") not in gone]
        return _ordered(named, others, changes, live, "")
    if not merge_key:
        where = field.name if field is not None else ""
        raise _failure(f"cannot merge lists without merge key for {where}")
    return _merge_maps(live, changes, merge_key, _inner(field))


def _merge_maps(
    live: list[Any], changes: list[Any], key: str, type: StructType | None
) -> list[Any]:
    plain_changes: list[Any] = []
    gone: set[Hashable] = set()
    replace = False
    for item in changes:
        directive = item.get(DIRECTIVE) if DIRECTIVE in item else None
        if DIRECTIVE not in item:
            plain_changes.append(item)
        elif directive == _DELETE:
            if key not in item:
                raise _no_merge_key(item, key)
            gone.add(_comparable(item[key]))
        elif directive == _REPLACE:
            replace = True
        elif directive == _MERGE:
            raise _failure(MERGING_LISTS)
        else:
            raise _bad_directive(directive, item)
    if replace:
        return plain_changes
    if gone:
        live = [one for one in live if _comparable(one.get(key)) not in gone]
    merged = list(live)
    places: dict[Hashable, int] = {}
    for i, one in enumerate(merged):
        places.setdefault(_comparable(one.get(key)), i)
    for item in plain_changes:
        if key not in item:
            raise _no_merge_key(item, key)
        place = places.setdefault(_comparable(item[key]), len(merged))
        if place == len(merged):
            merged.append(item)
        else:
            merged[place] = _merge_map(merged[place], item, type)
    wanted = {_identity(item, key) for item in plain_changes}
    named = [item for item in merged if _identity(item, key) in wanted]
    others = [item for item in merged if _identity(item, key) not in wanted]
    return _ordered(named, others, plain_changes, live, key)


def _ordered(
    named: list[Any], others: list[Any], order: list[Any], live: list[Any], key: str
) -> list[Any]:
    """Return the patch's items in its order, with the live list's other items interleaved.

    The other items keep their position relative to the patch's items in the live list.
    """
    wanted = {_identity(item, key): i for i, item in reversed(list(enumerate(order)))}
    places = {_identity(item, key): i for i, item in reversed(list(enumerate(live)))}
    named = sorted(named, key=lambda item: wanted.get(_identity(item, key), -1))
    others = sorted(others, key=lambda item: places.get(_identity(item, key), -1))
    result: list[Any] = []
    i = j = 0
    while i < len(others) and j < len(named):
        left = places.get(_identity(others[i], key))
        right = places.get(_identity(named[j], key))
        if left is not None and right is not None and left < right:
            result.append(others[i])
            i += 1
        else:
            result.append(named[j])
            j += 1
    return result + others[i:] + named[j:]


def _strip(value: Any) -> tuple[Any, bool]:
    """Return a value without directives, and whether to keep it at all."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        kept = {}
        for key, item in value.items():
            inner, found = _strip(item)
            if found:
                kept[key] = inner
        return kept, True
    if isinstance(value, list):
        return [inner for inner, found in map(_strip, value) if found], True
    return value, True


def _discard_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _discard_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_discard_nulls(item) for item in value]
    return value
