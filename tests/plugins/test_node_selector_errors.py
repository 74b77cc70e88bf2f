"""The node selectors of a configuration, checked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api.scheduling import NodeSelector, PreferredSchedulingTerm
from mooring.plugins.node_selector_errors import node_selector_errors, preferred_term_errors


def errors(*expressions: dict[str, Any], fields: Any = ()) -> list[str]:
    term = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    selector = msgspec.convert({"nodeSelectorTerms": [term]}, NodeSelector)
    found = node_selector_errors("a", selector)
    return [str(error).removeprefix("a.nodeSelectorTerms[0].") for error in found]


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        ({"key": "k", "operator": "In", "values": ["x"]}, []),
        ({"key": "k", "operator": "Exists"}, []),
        ({"key": "k", "operator": "Gt", "values": ["9223372036854775807"]}, []),
        (
            {"key": "k", "operator": "Near"},
            [
                'matchExpressions[0].operator: Unsupported value: "Near": supported values: '
                '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"'
            ],
        ),
        (
            {"key": "k", "operator": "NotIn"},
            [
                "matchExpressions[0].values: Invalid value: null: "
                "for 'in', 'notin' operators, values set can't be empty"
            ],
        ),
        (
            {"key": "k", "operator": "DoesNotExist", "values": ["x"]},
            [
                'matchExpressions[0].values: Invalid value: ["x"]: '
                "values set must be empty for exists and does not exist"
            ],
        ),
        (
            {"key": "k", "operator": "Lt", "values": ["1", "2"]},
            [
                'matchExpressions[0].values: Invalid value: ["1","2"]: '
                "for 'Gt', 'Lt' operators, exactly one value is required"
            ],
        ),
        (
            {"key": "k", "operator": "Gt", "values": ["9223372036854775808"]},
            [
                'matchExpressions[0].values[0]: Invalid value: "9223372036854775808": '
                "for 'Gt', 'Lt' operators, the value must be an integer"
            ],
        ),
    ],
)
def test_a_requirement_of_labels(requirement: dict[str, Any], found: list[str]) -> None:
    assert errors(requirement) == found


def test_keys_and_values_are_those_of_labels() -> None:
    (key, value) = errors({"key": "-", "operator": "In", "values": ["ok", "not ok"]})
    assert key.startswith('matchExpressions[0].key: Invalid value: "-": ')
    assert value.startswith('matchExpressions[0].values[1][-]: Invalid value: "not ok": ')


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        ({"key": "metadata.name", "operator": "In", "values": ["n"]}, []),
        (
            {"key": "metadata.name", "operator": "Exists"},
            [
                'matchFields[0].operator: Unsupported value: "Exists": supported values: '
                '"In", "NotIn"'
            ],
        ),
        (
            {"key": "metadata.name", "operator": "In", "values": ["n", "m"]},
            ['matchFields[0].values: Invalid value: ["n","m"]: must have one element'],
        ),
        (
            {"key": "metadata.name", "operator": "NotIn"},
            ["matchFields[0].values: Invalid value: null: must have one element"],
        ),
    ],
)
def test_a_requirement_of_fields(requirement: dict[str, Any], found: list[str]) -> None:
    assert errors(fields=[requirement]) == found


def test_an_empty_term_is_no_error() -> None:
    assert node_selector_errors("a", NodeSelector()) == []
    assert errors() == []


def test_a_preference_without_weight_is_not_checked() -> None:
    bad = {"matchExpressions": [{"key": "k", "operator": "Near"}]}
    terms = [
        msgspec.convert({"weight": weight, "preference": bad}, PreferredSchedulingTerm)
        for weight in (0, 5)
    ]
    (error,) = preferred_term_errors("p", terms)
    assert error.path == "p[1].matchExpressions[0].operator"
