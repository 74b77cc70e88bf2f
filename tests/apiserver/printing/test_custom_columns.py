"""The columns of custom resources."""

from __future__ import annotations

import datetime

import pytest

from mooring.apiserver.printing.custom_columns import custom_printer
from mooring.apiserver.resource_table import Served, custom_resource
from mooring.apiserver.schema.custom_schema import CustomKind

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
