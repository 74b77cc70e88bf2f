"""Defaulting: a type may have a function, called wherever a value of the type occurs.

As in Go, the function of a type runs before those of the values inside it. The walk follows the
field tree and skips types that contain no default.
"""

# kubernetes: pkg/apis/*/v1/{defaults.go,zz_generated.defaults.go,conversion.go}

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from mooring.apiserver.defaults import apps, by_group, core, dropped, pods
from mooring.controlplane.pod_defaults import rounded
from mooring.controlplane.type_table import LIST, MAP, STRUCT, StructType, TypeKind, types

Object = dict[str, Any]
Defaulter = Callable[[Object], None]

DEFAULTERS: dict[str, Defaulter] = {
    **core.DEFAULTERS,
    **pods.DEFAULTERS,
    **apps.DEFAULTERS,
    **by_group.DEFAULTERS,
}


def set_defaults(group_version: str, kind: str, obj: Object) -> None:
    """Set the defaults of a canonical object of a built-in kind, in place.

    kube-apiserver does this between decoding a body and admission. What a kind's strategy adds
    later (status, generation, cluster IPs) is not part of it.
    """
    found = types().find(group_version, kind)
    if found is not None:
        _default(found, obj)


def _default(type: StructType, value: Object) -> None:
    defaulter = DEFAULTERS.get(f"{type.package}.{type.name}")
    if defaulter is not None:
        defaulter(value)
    for name, kind, default in _wanted(type):
        item = value.get(name)
        if default is not None and (item is None or item == ""):
            value[name] = copy.deepcopy(default)
        elif item is not None:
            _default_kind(kind, item)
    conversion = CONVERSIONS.get(f"{type.package}.{type.name}")
    if conversion is not None:
        conversion(value)


def _default_kind(kind: TypeKind, value: Any) -> None:
    if kind.form == STRUCT and kind.type is not None:
        _default(kind.type, value)
    elif kind.form == LIST and kind.item is not None:
        for item in value:
            _default_kind(kind.item, item)
    elif kind.form == MAP and kind.item is not None:
        if kind.item.form == "quantity":
            value.update(rounded(value))
        else:
            for item in value.values():
                _default_kind(kind.item, item)


def _combine(*tables: Mapping[str, Defaulter]) -> dict[str, Defaulter]:
    """Return one table; if several change the same type, their changes are made in order."""
    combined: dict[str, Defaulter] = {}
    for table in tables:
        for name, change in table.items():
            earlier = combined.get(name)
            combined[name] = change if earlier is None else _both(earlier, change)
    return combined


def _both(first: Defaulter, second: Defaulter) -> Defaulter:
    def change(value: Object) -> None:
        first(value)
        second(value)

    return change


#: The changes that conversion to kube-apiserver's internal version makes, by type.
CONVERSIONS: dict[str, Defaulter] = _combine(
    dropped.CONVERSIONS, core.CONVERSIONS, pods.CONVERSIONS, apps.CONVERSIONS
)


@cache
def _wanted(type: StructType) -> tuple[tuple[str, TypeKind, Any], ...]:
    """Return the fields of a type that have a default or contain one."""
    return tuple(
        (field.name, field.kind, field.default)
        for field in type.fields.values()
        if field.default is not None or _leads(field.kind, frozenset({type}))
    )


def _leads(kind: TypeKind, seen: frozenset[StructType]) -> bool:
    if kind.form == MAP and kind.item is not None and kind.item.form == "quantity":
        return True
    while kind.item is not None:
        kind = kind.item
    if kind.form != STRUCT or kind.type is None or kind.type in seen:
        return False
    type = kind.type
    name = f"{type.package}.{type.name}"
    if name in DEFAULTERS or name in CONVERSIONS:
        return True
    inner = seen | {type}
    return any(
        field.default is not None or _leads(field.kind, inner) for field in type.fields.values()
    )
