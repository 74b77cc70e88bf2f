"""The columns of custom resources."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from mooring.apiserver.printing.custom_columns import custom_printer, follow
from mooring.apiserver.printing.printer import Printer
from mooring.apiserver.resource_table import Served, custom_resource
from mooring.apiserver.schema.custom_schema import CustomKind, custom_kinds
from tests.apiserver.printing.rows import row


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.missing", []),
        (".items[1].name", ["b"]),
        (".items[*].name", ["a", "b"]),
        ('.items[?(@.name=="b")].value', [2]),
    ],
)
def test_a_column_follows_its_path(path: str, found: list[object]) -> None:
    items = [{"name": "a", "value": 1}, {"name": "b", "value": 2}]
    assert follow({"spec": {"size": 3}, "items": items}, path) == found


def _printer(*columns: dict[str, Any]) -> Printer:
    spec = {
        "group": "a.io",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": list(columns),
            }
        ],
    }
    (custom,) = custom_kinds({"spec": spec})
    return custom_printer(custom_resource(custom))


CELLS: dict[str, tuple[str, str, Any]] = {
    "a text": ("string", ".text", "t"),
    "a number as text": ("string", ".number", "5"),
    "true as text": ("string", ".flag", "true"),
    "a number": ("integer", ".number", 5),
    "a text that is no number": ("integer", ".text", None),
    "a truth": ("boolean", ".flag", True),
    "a number that is no truth": ("boolean", ".number", None),
    "a time": ("date", ".time", "60m"),
    "a number that is no time": ("date", ".number", None),
    "the age": ("date", ".metadata.creationTimestamp", "60m"),
    "nothing": ("string", ".missing", None),
    "the second of a list that has one": ("string", ".list[1]", None),
    "a quoted name": ("string", ".labels['a.b/c']", "x"),
}


@pytest.mark.parametrize(("kind", "path", "cell"), CELLS.values(), ids=CELLS)
def test_cells(kind: str, path: str, cell: Any) -> None:
    obj = {
        "text": "t",
        "number": 5,
        "flag": True,
        "time": "2026-01-01T11:00:00Z",
        "list": ["one"],
        "labels": {"a.b/c": "x"},
    }
    printer = _printer({"name": "C", "type": kind, "jsonPath": path})
    assert row({"": printer}, "", obj)[1] == cell


def test_columns_of_a_definition() -> None:
    column = {"name": "C", "type": "string", "jsonPath": ".a", "priority": 1, "description": "d"}
    name, found = _printer(column).columns
    assert name.name == "Name"
    assert (found.name, found.priority, found.description) == ("C", 1, "d")


def test_a_definition_without_columns_shows_the_age() -> None:
    assert [one.name for one in _printer().columns] == ["Name", "Age"]


NOW = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


def boats(*columns: dict[str, str]) -> Served:
    """Return a custom resource with these printer columns."""
    kind = CustomKind(
        group="example.com",
        version="v1",
        kind="Boat",
        list_kind="BoatList",
        plural="boats",
        singular="boat",
        namespaced=True,
        short_names=(),
        categories=(),
        schema=None,
        preserve=True,
        subresources={},
        columns=list(columns),
    )
    return custom_resource(kind)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("2023-12-31T23:59:50Z", "10s", id="a time"),
        pytest.param("", "<unknown>", id="an empty text"),
        pytest.param("yesterday", "<invalid>", id="another text"),
        pytest.param(7, None, id="a number"),
    ],
)
def test_a_date_column_shows_the_age(value: object, shown: str | None) -> None:
    printer = custom_printer(boats({"name": "Built", "type": "date", "jsonPath": ".spec.built"}))
    assert printer.cells({"metadata": {"name": "a"}, "spec": {"built": value}}, NOW) == ["a", shown]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("oak", "oak", id="a text"),
        pytest.param(True, "true", id="a boolean"),
        pytest.param(2.0, "2", id="a number"),
        pytest.param({"a": [1]}, '{"a":[1]}', id="a map"),
    ],
)
def test_a_string_column_shows_any_value(value: object, shown: str) -> None:
    printer = custom_printer(boats({"name": "Hull", "type": "string", "jsonPath": ".spec.hull"}))
    assert printer.cells({"metadata": {"name": "a"}, "spec": {"hull": value}}, NOW) == ["a", shown]
