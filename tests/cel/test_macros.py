"""Macros: calls that become loops."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.macros import MacroFault, NodeFactory, expand
from mooring.cel.parser import parse
from mooring.cel.syntax import Call, Ident, Literal, Select, children
from mooring.cel.values import CompileError, EvaluationError
from tests.cel.expressions import evaluate


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("[1, 2].all(a, a > 0)", True),
        ("[1, 2].all(i, a, a > i)", True),
        ("[1, 2].exists(a, a == 2)", True),
        ("{'k': 1}.exists(k, v, k == 'k' && v == 1)", True),
        ("[1, 2, 1].exists_one(a, a == 2)", True),
        ("[1, 2, 1].existsOne(i, a, a == 1)", False),
        ("[1, 2].map(a, a * 2)", [2, 4]),
        ("[1, 2].map(a, a > 1, a * 2)", [4]),
        ("{'k': 1}.map(k, k + '!')", ["k!"]),
        ("[1, 2, 3].filter(a, a != 2)", [1, 3]),
        ("[5, 6].transformList(i, a, i + a)", [5, 7]),
        ("[5, 6].transformList(i, a, i > 0, a)", [6]),
        ("{'k': 1}.transformMap(k, v, v + 1)", {"k": 2}),
        ("{'k': 1, 'l': 2}.transformMap(k, v, v > 1, v)", {"l": 2}),
        ("{'k': 'v'}.transformMapEntry(k, v, {v: k})", {"v": "k"}),
        ("[1, 2].transformMapEntry(i, v, i == 1, {i: v})", {1: 2}),
        ("optional.of(2).optMap(a, a * 3).value()", 6),
        ("optional.none().optMap(a, a * 3).hasValue()", False),
        ("optional.of(2).optFlatMap(a, optional.of(a)).value()", 2),
        ("cel.bind(a, 3, a * a)", 9),
        ("has({'a': 1}.a)", True),
        ("has({'a': 1}.b)", False),
    ],
)
def test_what_a_macro_computes(source: str, value: Any) -> None:
    assert evaluate(source)[0] == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("has(a)", "invalid argument to has() macro"),
        ("[1].exists(a.b, true)", "argument must be a simple name"),
        ("[1].exists_one(a, a, true)", "duplicate variable name: a"),
        ("[1].filter(1, true)", "argument is not an identifier"),
        ("[1].transformList(1, a, a)", "argument must be a simple name"),
        ("x.optMap(1, 2)", "optMap() variable name must be a simple identifier"),
        ("x.optFlatMap(1, 2)", "optFlatMap() variable name must be a simple identifier"),
        ("(1).sortBy(a, a)", "sortBy can only be applied to a list, identifier"),
    ],
)
def test_an_argument_that_does_not_fit_is_said(source: str, message: str) -> None:
    with pytest.raises(CompileError) as refused:
        parse(source)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "source",
    ["x.all(a)", "x.bind(a, 1, a)", "all(x, a, true)", "x.sortBy(a)", "has(x.a, x.b)"],
)
def test_other_calls_stay_calls(source: str) -> None:
    found = parse(source)
    assert isinstance(found, Call)


def test_sorting_binds_its_input_and_sorts_by_keys() -> None:
    names = []
    waiting = [parse("x.sortBy(a, a)")]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if isinstance(node, Call):
            names.append(node.function)
    assert "@sortByAssociatedKeys" in names


def test_two_entries_of_one_key_are_refused() -> None:
    with pytest.raises(EvaluationError, match="insert failed: key a already exists"):
        evaluate("[1, 2].transformMapEntry(i, v, {'a': v})")


def test_nodes_are_numbered_and_copies_have_new_numbers() -> None:
    make = NodeFactory()
    name = make.ident(3, "a")
    field = make.select(4, name, "b")
    copied = make.copy(field)
    assert isinstance(copied, Select)
    assert isinstance(copied.operand, Ident)
    assert (copied.place, copied.field, copied.operand.name) == (4, "b", "a")
    assert len({name.id, field.id, copied.id, copied.operand.id}) == 4


@pytest.mark.parametrize(
    "source", ["[1, ?a]", "{1: a, ?2: b}", "f(a).g(b)", "[a].map(b, b + 1)", "has(a.b)", "'c'"]
)
def test_a_copy_has_the_same_form(source: str) -> None:
    def form(node: Any) -> Any:
        named = [getattr(node, field, None) for field in ("name", "field", "function", "value")]
        return type(node), named, [form(child) for child in children(node)]

    node = parse(source)
    assert form(NodeFactory().copy(node)) == form(node)


def test_expansion_needs_the_right_number_of_arguments() -> None:
    make = NodeFactory()
    one = Literal(1, 0, "int", 1)
    assert expand(make, 0, "has", None, [one, one]) is None
    assert expand(make, 0, "all", one, [one]) is None
    with pytest.raises(MacroFault) as fault:
        expand(make, 0, "has", None, [Literal(2, 7, "int", 1)])
    assert fault.value.place == 7
