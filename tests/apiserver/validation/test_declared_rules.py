from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.declared_rules import (
    CheckedValue,
    FieldRules,
    TypeRules,
    at_most,
    check_declared,
    fixed,
    formatted,
    gated,
    if_on,
    kept,
    maximum,
    minimum,
    needed,
    one_of,
    optional,
    same_items,
)
from mooring.apiserver.validation.formats import label_problems
from tests.apiserver.validation.objects import texts

RULES = {
    "Box": TypeRules(
        (
            FieldRules("name", (needed,), (formatted(label_problems),)),
            FieldRules("size", (optional,), (minimum(1), maximum(9))),
            FieldRules("weight", (fixed, optional), (maximum(5),), is_pointer=True),
            FieldRules("mode", (gated("Modes"), if_on("Strict", fixed)), (one_of("A", "B"),)),
            FieldRules("lid", (optional, kept), type="Lid", is_pointer=True),
            FieldRules("red", (optional,), is_pointer=True),
            FieldRules("blue", (optional,), is_pointer=True),
            FieldRules(
                "boxes",
                (at_most(2), optional, same_items("name")),
                type="Box",
                key="name",
                is_list=True,
            ),
            FieldRules("lids", (at_most(3), optional), type="Lid", is_list=True),
            FieldRules("base", type="Lid"),
        ),
        (("red", "blue"),),
    ),
    "Lid": TypeRules((FieldRules("label", (optional,), (formatted(label_problems),)),)),
}
Object = dict[str, Any]


def _new(obj: Object, *features: str) -> list[str]:
    obj = {"name": "x", "red": {}, **obj}
    return texts(check_declared(RULES, "Box", CheckedValue("", obj, None, False, features)))


def _changed(old: Object, new: Object, *features: str) -> list[str]:
    old, new = ({"name": "x", "red": {}, **one} for one in (old, new))
    return texts(check_declared(RULES, "Box", CheckedValue("box", new, old, True, features)))


@pytest.mark.parametrize(
    ("obj", "problems"),
    [
        pytest.param({}, [], id="nothing wrong"),
        pytest.param({"name": ""}, ["name: Required value"], id="a required text"),
        pytest.param({"name": "A"}, ['name: Invalid value: "A": <label>'], id="a format"),
        pytest.param(
            {"name": "a" * 64},
            ['name: Invalid value: "a…": must be no more than 63 bytes'],
            id="a length in bytes",
        ),
        pytest.param({"size": 0}, [], id="an optional zero counts as absent"),
        pytest.param(
            {"size": -1},
            ["size: Invalid value: -1: must be greater than or equal to 1"],
            id="a small number",
        ),
        pytest.param(
            {"size": 10, "weight": 6},
            [
                "size: Invalid value: 10: must be less than or equal to 9",
                "weight: Invalid value: 6: must be less than or equal to 5",
            ],
            id="large numbers",
        ),
        pytest.param({"mode": "A"}, ["mode: Forbidden"], id="a gate that is off"),
        pytest.param(
            {"blue": {}},
            [
                ': Invalid value: "{red, blue}": must specify exactly one of: `red`, `blue`',
            ],
            id="two of a union",
        ),
        pytest.param(
            {"red": None},
            [': Invalid value: "": must specify one of: `red`, `blue`'],
            id="none of a union",
        ),
        pytest.param(
            {"boxes": [{"name": "a", "red": {}}] * 3},
            ["boxes: Too many: 3: must have at most 2 items"],
            id="too many items",
        ),
        pytest.param(
            {"boxes": [{"name": "a", "red": {}}, {"name": "a", "blue": {}, "size": -1}]},
            [
                'boxes[1]: Duplicate value: {"name":"a","blue":{},"size":-1}',
                "boxes[1].size: Invalid value: -1: must be greater than or equal to 1",
            ],
            id="an item twice",
        ),
        pytest.param(
            {"lids": [{"label": "A"}], "base": {"label": "B"}, "lid": {"label": "C"}},
            [
                'lid.label: Invalid value: "C": <label>',
                'lids[0].label: Invalid value: "A": <label>',
                'base.label: Invalid value: "B": <label>',
            ],
            id="structs inside",
        ),
    ],
)
def test_a_new_object(obj: Object, problems: list[str]) -> None:
    assert _new(obj) == problems


def test_a_gate_that_is_on_allows_a_field() -> None:
    assert _new({"mode": "A"}, "Modes") == []
    assert _new({"mode": "C"}, "Modes") == [
        'mode: Unsupported value: "C": supported values: "A", "B"'
    ]


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        pytest.param(
            {"name": "A", "size": -1}, {"name": "A", "size": -1}, [], id="what did not change"
        ),
        pytest.param(
            {"weight": 1},
            {"weight": 9},
            ["box.weight: Invalid value: null: field is immutable"],
            id="a fixed value",
        ),
        pytest.param(
            {"weight": 1},
            {},
            ["box.weight: Invalid value: null: field is immutable"],
            id="a fixed value that is removed",
        ),
        pytest.param(
            {},
            {"lid": {"label": "A"}},
            ["box.lid: Invalid value: null: field cannot be set once created"],
            id="a value that is set late",
        ),
        pytest.param({"lid": {}}, {"lid": {"label": "a"}}, [], id="a kept value may change"),
        pytest.param(
            {"lid": {}},
            {},
            ["box.lid: Invalid value: null: field cannot be cleared once set"],
            id="a kept value that is removed",
        ),
        pytest.param(
            {"red": {}},
            {"red": None, "blue": {}},
            [],
            id="the other one of a union",
        ),
        pytest.param(
            {"boxes": [{"name": "a", "red": {}}]},
            {"boxes": [{"name": "b", "red": {}}]},
            [
                "box.boxes[0]: Forbidden: item may not be added",
                "box.boxes: Forbidden: item may not be removed",
            ],
            id="an item that is replaced",
        ),
        pytest.param(
            {"boxes": [{"name": "a", "red": {}, "weight": 1}, {"name": "B"}]},
            {"boxes": [{"name": "B"}, {"name": "a", "red": {}, "weight": 2}]},
            ["box.boxes[1].weight: Invalid value: null: field is immutable"],
            id="items are compared by name",
        ),
        pytest.param(
            {"lids": [{"label": "A"}]},
            {"lids": [{"label": "A"}, {"label": "a"}]},
            ['box.lids[0].label: Invalid value: "A": <label>'],
            id="items without a key are checked again",
        ),
        pytest.param(
            {"red": None, "base": {}},
            {"red": None, "base": {"label": "a"}},
            [],
            id="a union that was wrong before",
        ),
    ],
)
def test_an_update(old: Object, new: Object, problems: list[str]) -> None:
    assert _changed(old, new) == problems


def test_a_rule_that_needs_a_gate() -> None:
    immutable = ["box.mode: Invalid value: null: field is immutable"]
    assert _changed({"mode": "A"}, {"mode": "B"}, "Modes") == []
    assert _changed({"mode": "A"}, {"mode": "B"}, "Modes", "Strict") == immutable
    assert _changed({"mode": "A"}, {"mode": "B"}) == ["box.mode: Forbidden"]
