"""What the parser accepts, and how large and deep expressions may be."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from mooring.cel.parser import parse
from mooring.cel.syntax import Call, Comprehension, Literal, depth_of
from mooring.cel.values import CompileError

RECURSION = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
VISITS = "ERROR: <input>:-1:0: max recursion depth exceeded"


@pytest.mark.parametrize(
    ("make", "most", "text"),
    [
        pytest.param(lambda n: "(" * n + "1" + ")" * n, 249, RECURSION, id="parentheses"),
        pytest.param(lambda n: "[" * n + "1" + "]" * n, 249, RECURSION, id="lists"),
        pytest.param(lambda n: "{1:" * n + "1" + "}" * n, 249, RECURSION, id="maps"),
        pytest.param(lambda n: "f(" * n + "1" + ")" * n, 249, RECURSION, id="calls"),
        pytest.param(lambda n: "true ? true : " * n + "true", 249, RECURSION, id="conditionals"),
        pytest.param(lambda n: "1 == (" * n + "1" + ")" * n, 124, RECURSION, id="relations"),
        pytest.param(lambda n: "1 + (" * n + "1" + ")" * n, 124, RECURSION, id="sums to the right"),
        pytest.param(lambda n: "1 + " * n + "1", 250, VISITS, id="sums to the left"),
        pytest.param(lambda n: "a" + ".b" * n, 250, VISITS, id="fields"),
        pytest.param(lambda n: "a" + "[0]" * n, 250, VISITS, id="indices"),
        pytest.param(lambda n: "a" + ".f()" * n, 250, VISITS, id="chained calls"),
    ],
)
def test_an_expression_is_as_deep_as_cel_go_allows(make: Any, most: int, text: str) -> None:
    # cel-go v0.26.0: parser/parser.go, maxRecursionDepth
    assert depth_of(parse(make(most))) >= 1
    for depth in (most + 1, 5_000):
        with pytest.raises(CompileError) as refused:
            parse(make(depth))
        # At a depth of 5,000 another limit may be hit first.
        assert str(refused.value) in ((text,) if depth == most + 1 else (RECURSION, VISITS))


def test_what_is_not_nested_may_be_long() -> None:
    assert depth_of(parse(" && ".join(["true"] * 10_000))) == 15
    assert isinstance(parse("!" * 10_001 + "true"), Call)
    assert parse("--" * 10_000 + "1") == parse(" " * 20_000 + "1")


def test_an_expression_has_a_largest_size() -> None:
    assert isinstance(parse(f"'{'a' * 99_998}'"), Literal)
    with pytest.raises(CompileError) as refused:
        parse(f"'{'a' * 99_999}'")
    assert str(refused.value) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )


def test_the_limit_of_the_stack_is_restored() -> None:
    usual = sys.getrecursionlimit()
    parse("(" * 249 + "1" + ")" * 249)
    with pytest.raises(CompileError):
        parse("(" * 10_000)
    assert sys.getrecursionlimit() == usual


def test_copies_of_macros_have_a_limit() -> None:
    assert isinstance(parse("a" + ".optMap(x, x)" * 9), Call)
    with pytest.raises(CompileError, match="macros copy more than 10000 parts"):
        parse("a" + ".optMap(x, x)" * 240)


def test_macros_are_comprehensions() -> None:
    found = parse("a.all(x, x > 1)")
    assert isinstance(found, Comprehension)
    assert not found.binds()
    bound = parse("cel.bind(x, 1, x)")
    assert isinstance(bound, Comprehension)
    assert bound.binds()


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("-1", -1),
        ("0x1F", 31),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        (r"'a\n\x41\u00e9\U0001F600\101'", "a\nAé\U0001f600A"),
        (r"r'a\n'", r"a\n"),
        ("'''a'b''c'''", "a'b''c"),
        ('"""a\r\nb"""', "a\nb"),
        ("null", None),
        ("9223372036854775807 // the largest", 2**63 - 1),
    ],
)
def test_literals(source: str, value: object) -> None:
    found = parse(source)
    assert isinstance(found, Literal)
    assert found.value == value


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", "1:1: Syntax error: mismatched input '<EOF>' expecting"),
        ("!-null", "1:2: Syntax error: mismatched input '-' expecting"),
        ("-", "1:2: Syntax error: mismatched input '<EOF>' expecting"),
        ("(1", "1:3: Syntax error: missing ')' at '<EOF>'"),
        ("1 2", "1:3: Syntax error: extraneous input '2' expecting <EOF>"),
        ("9223372036854775808", "1:1: invalid int literal"),
        ("18446744073709551616u", "1:1: invalid uint literal"),
        ("for", "1:1: reserved identifier: for"),
        (r"'\q'", "1:1: Syntax error: token recognition error at"),
        (r"'\uD800'", "1:1: Syntax error: token recognition error at"),
        ("has(1)", "1:5: invalid argument to has() macro"),
        ("[1].all(1, true)", "1:9: argument must be a simple name"),
        ("[1].map(a.b, 1)", "1:10: argument is not an identifier"),
        ("[1].all(x, x, true)", "1:12: duplicate variable name: x"),
        ("[1].all(__result__, true)", "1:9: iteration variable overwrites accumulator variable"),
        ("cel.bind(1, 2, 3)", "1:10: cel.bind() variable names must be simple identifiers"),
        ("a.`b`", "1:3: unsupported syntax: '`'"),
    ],
)
def test_what_cannot_be_read_is_said(source: str, text: str) -> None:
    with pytest.raises(CompileError) as refused:
        parse(source)
    assert str(refused.value).startswith(f"ERROR: <input>:{text}")
