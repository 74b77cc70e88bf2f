"""The printer of custom resources: name, and the definition's printer columns."""

# apiextensions-apiserver: pkg/registry/customresource/tableconvertor/tableconvertor.go

from __future__ import annotations

import datetime
import re
from typing import Any

from mooring.api.go_format import go_json, go_text
from mooring.apiserver.printing.printer import INVALID, NAME, Printer, TableColumn, age, name, since
from mooring.apiserver.resource_table import Served
from mooring.errors import ObjectError

Object = dict[str, Any]

_STEP = re.compile(
    r"\.?([\w$/-]+)|\[(\d+|\*)\]|\['([^']+)'\]|\[\?\(@\.([\w.]+)==[\"']([^\"']*)[\"']\)\]"
)


def custom_printer(served: Served) -> Printer:
    """Return the printer of a custom resource."""
    wanted = served.custom.columns if served.custom is not None else []
    if not wanted:
        wanted = [{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]
    columns = [
        TableColumn(
            one["name"],
            one["type"],
            one.get("priority", 0),
            one.get("format", ""),
            one.get("description", ""),
        )
        for one in wanted
    ]

    def cells(obj: Object, now: datetime.datetime) -> list[Any]:
        return [name(obj), *(_cell(obj, one, now) for one in wanted)]

    return Printer((NAME, *columns), cells)


def _since(text: str, now: datetime.datetime) -> str:
    try:
        return since(text, now)
    except ObjectError:
        return INVALID


def _cell(obj: Object, column: Object, now: datetime.datetime) -> Any:
    if column["jsonPath"] == ".metadata.creationTimestamp":
        return age(obj, now)
    found = follow(obj, column["jsonPath"])
    if not found:
        return None
    value = found[0]
    kind = column["type"]
    if kind == "date":
        return _since(value, now) if isinstance(value, str) else None
    if kind in ("integer", "number", "boolean"):
        expected: Any = bool if kind == "boolean" else int | float
        return value if isinstance(value, expected) else None
    return go_json(value) if isinstance(value, dict | list) else go_text(value)


def follow(value: Any, path: str) -> list[Any]:
    """Return the values at a printer column's JSON path."""
    found = [value]
    for match in _STEP.finditer(path):
        key, index, quoted, filter_path, wanted = match.groups()
        following: list[Any] = []
        for one in found:
            if index is not None or filter_path is not None:
                items = one if isinstance(one, list) else []
                if index == "*":
                    following += items
                elif index is not None:
                    following += items[int(index) : int(index) + 1]
                else:
                    following += [item for item in items if _at(item, filter_path) == wanted]
            elif isinstance(one, dict) and (key or quoted) in one:
                following.append(one[key or quoted])
        found = following
    return found


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
