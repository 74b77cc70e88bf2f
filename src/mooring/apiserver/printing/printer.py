"""The printer of a kind: columns, and a function that returns the cells of an object's row."""

# kube-apiserver: pkg/printers/internalversion/printers.go

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from mooring.api.timestamps import parse_time

Object = dict[str, Any]
Row = Callable[[Object, datetime.datetime], list[Any]]

NONE = "<none>"
UNKNOWN = "<unknown>"
INVALID = "<invalid>"
UNSET = "<unset>"


class TableColumn(msgspec.Struct, frozen=True):
    """One column of a table."""

    name: str
    type: str = "string"
    #: Columns with a priority are shown only by `-o wide`.
    priority: int = 0
    format: str = ""
    description: str = ""

    def definition(self) -> Object:
        """Return the column definition for a Table."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def _no_conditions(obj: Object) -> list[Object]:
    return []


class Printer(msgspec.Struct, frozen=True):
    """The table form of a kind."""

    columns: tuple[TableColumn, ...]
    #: Returns the cells of an object's row.
    cells: Row
    #: Returns the conditions of an object's row.
    conditions: Callable[[Object], list[Object]] = _no_conditions
    #: Returns a list's `cells`, if the rows of a list depend on one another.
    cells_of_list: Callable[[Sequence[Object]], Row] | None = None


NAME = TableColumn("Name", format="name")


def columns(text: str) -> tuple[TableColumn, ...]:
    """Parse columns like `Ready, Restarts:integer, Age; IP, Node`; those after `;` are wide."""
    result = []
    for priority, part in enumerate(text.split(";")):
        for word in part.split(","):
            name, _, type = word.strip().partition(":")
            if name:
                form = "name" if name == "Name" else ""
                result.append(TableColumn(name, type or "string", priority, form))
    return tuple(result)


def human_duration(seconds: float) -> str:
    """Return a duration as kubectl shows ages: 5s, 3m20s, 4h, 2d3h, 1y20d."""
    # apimachinery: pkg/util/duration/duration.go
    s = int(seconds)
    if s < -1:
        return INVALID
    if s < 0:
        return "0s"
    if s < 120:
        return f"{s}s"
    minutes = s // 60
    if minutes < 10:
        return f"{minutes}m" if s % 60 == 0 else f"{minutes}m{s % 60}s"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h" if minutes % 60 == 0 else f"{hours}h{minutes % 60}m"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 192:
        return f"{days}d" if hours % 24 == 0 else f"{days}d{hours % 24}h"
    if hours < 24 * 365 * 2:
        return f"{days}d"
    if hours < 24 * 365 * 8:
        left = days % 365
        return f"{days // 365}y" if left == 0 else f"{days // 365}y{left}d"
    return f"{days // 365}y"


def since(text: Any, now: datetime.datetime) -> str:
    """Return how long ago a timestamp is, in kubectl's format."""
    if not text:
        return UNKNOWN
    return human_duration(now.timestamp() - parse_time(text))


def age(obj: Object, now: datetime.datetime) -> str:
    """Return an object's age."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def name(obj: Object) -> str:
    """Return an object's name."""
    return str(obj["metadata"].get("name", ""))


def at(obj: Any, path: str, default: Any = None) -> Any:
    """Return the value at a dotted path, or the default if it is absent."""
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return default if obj is None else obj


def map_text(values: Mapping[str, str] | None) -> str:
    """Return labels as `a=b,c=d`."""
    return ",".join(f"{k}={v}" for k, v in sorted(values.items())) if values else NONE


def selector_text(selector: Object | None) -> str:
    """Return a label selector as text."""
    # apimachinery: pkg/apis/meta/v1/helpers.go, FormatLabelSelector
    if selector is None:
        return NONE
    words = [f"{k}={v}" for k, v in sorted((selector.get("matchLabels") or {}).items())]
    parts = [(one.split("=")[0], one) for one in words]
    for one in selector.get("matchExpressions") or ():
        key, operator = one.get("key", ""), one.get("operator")
        values = ",".join(sorted(one.get("values") or ()))
        word = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(operator, "<error>")
        parts.append((key, word))
    return ",".join(word for _, word in sorted(parts, key=lambda p: p[0])) or NONE


def containers(spec: Object) -> list[str]:
    """Return the names and the images of a pod spec's containers, each joined by commas."""
    found: Iterable[Object] = spec.get("containers") or ()
    found = list(found)
    return [
        ",".join(one.get("name", "") for one in found),
        ",".join(one.get("image", "") for one in found),
    ]


def plain_printer() -> Printer:
    """Return the default printer: name and creation time."""
    # apiserver: pkg/registry/rest/table.go
    return Printer(
        (NAME, TableColumn("Created At", "date")),
        lambda obj, now: [name(obj), at(obj, "metadata.creationTimestamp")],
    )
