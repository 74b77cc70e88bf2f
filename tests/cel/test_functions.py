"""Functions and methods, by what they return for their arguments."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cel.meter import CostExceeded
from mooring.cel.values import CompileError, EvaluationError
from tests.cel.expressions import evaluate


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("size(x)", 3),
        ("x.size()", 3),
        ("x.startsWith('ab')", True),
        ("x.endsWith('b')", False),
        ("x.contains('bc')", True),
        ("x.matches('^a.c$')", True),
        ("matches(x, 'z')", False),
        ("x.find('b.')", "bc"),
        ("x.findAll('[ab]')", ["a", "b"]),
        ("x.findAll('[ab]', 1)", ["a"]),
        ("x.upperAscii()", "ABC"),
        ("'ÀB'.lowerAscii()", "Àb"),
        ("'  a '.trim()", "a"),
        ("x.charAt(1)", "b"),
        ("x.charAt(3)", ""),
        ("x.substring(1)", "bc"),
        ("x.substring(1, 2)", "b"),
        ("'a,b,c'.split(',')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'a,b,c'.split(',', 0)", []),
        ("x.split('')", ["a", "b", "c"]),
        ("'aaa'.replace('a', 'b')", "bbb"),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("['a', 'b'].join()", "ab"),
        ("['a', 'b'].join('-')", "a-b"),
        ("x.indexOf('c')", 2),
        ("x.indexOf('a', 1)", -1),
        ("[1, 2, 1].indexOf(1)", 0),
        ("[1, 2, 1].lastIndexOf(1)", 2),
        ("[1, 2].lastIndexOf(3)", -1),
        ("[3, 1, 2].min()", 1),
        ("[3, 1, 2].max()", 3),
        ("[3, 1, 2].sum()", 6),
    ],
)
def test_texts_and_lists(source: str, value: Any) -> None:
    assert evaluate(source, "abc")[0] == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("int('7')", 7),
        ("int('+7')", 7),
        ("int(7.9)", 7),
        ("int(-7.9)", -7),
        ("double('1.5')", 1.5),
        ("double(3)", 3.0),
        ("string(7)", "7"),
        ("string(true)", "true"),
        ("bool('true')", True),
        ("bool('T')", True),
        ("bool('0')", False),
        ("bool(false)", False),
        ("type(1) == int", True),
        ("type('a') == type(x)", True),
        ("type(x) == list", False),
    ],
)
def test_conversions(source: str, value: Any) -> None:
    found = evaluate(source, "abc")[0]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("quantity('1Gi').isGreaterThan(quantity('1M'))", True),
        ("quantity('1').isLessThan(quantity('500m'))", False),
        ("quantity('1').compareTo(quantity('1000m'))", 0),
        ("quantity('1k').asInteger()", 1000),
        ("quantity('100m').isInteger()", False),
        ("quantity('1500m').asApproximateFloat()", 1.5),
        ("sign(quantity('-1'))", -1),
        ("sign(quantity('0'))", 0),
        ("quantity('1').add(quantity('1')).asInteger()", 2),
        ("quantity('5').sub(3).asInteger()", 2),
        ("isQuantity('1Gi')", True),
        ("isQuantity('a')", False),
        ("semver('1.2.3').major()", 1),
        ("semver('1.2.3').minor()", 2),
        ("semver('1.2.3').patch()", 3),
        ("semver('v1.2', true).isLessThan(semver('1.10.0'))", True),
        ("isSemver('1.2')", False),
        ("isSemver('v1.2', true)", True),
    ],
)
def test_quantities_and_versions(source: str, value: Any) -> None:
    assert evaluate(source)[0] == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("sets.contains([1, 2, 3], [1, 2])", True),
        ("sets.contains([1], [2])", False),
        ("sets.intersects([1, 2], [2, 3])", True),
        ("sets.intersects([1], [])", False),
        ("sets.equivalent([1, 2, 1], [2, 1])", True),
        ("sets.equivalent([1, 2], [1])", False),
        ("optional.of(1).hasValue()", True),
        ("optional.none().hasValue()", False),
        ("optional.of(1).value()", 1),
        ("optional.of(1).or(optional.of(2)).value()", 1),
        ("optional.none().orValue(5)", 5),
    ],
)
def test_sets_and_optionals(source: str, value: Any) -> None:
    assert evaluate(source)[0] == value


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("int(x)", "type conversion error from 'string' to 'int'", id="a word"),
        pytest.param("int(' 1')", "type conversion error", id="a number with a blank"),
        pytest.param("int('1_0')", "type conversion error", id="a number with an underscore"),
        pytest.param("int('9223372036854775808')", "integer overflow", id="a large number"),
        pytest.param("int(1e19)", "integer overflow", id="a large double"),
        pytest.param("int(double('NaN'))", "integer overflow", id="no number"),
        pytest.param("double(x)", 'strconv.ParseFloat: parsing "abc"', id="a word as double"),
        pytest.param("double('1_0')", "strconv.ParseFloat", id="an underscore in a double"),
        pytest.param("bool(x)", "no such overload", id="a word as bool"),
        pytest.param("quantity(x)", "quantities must match", id="a word as quantity"),
        pytest.param("quantity('1m').asInteger()", "cannot convert value", id="a part of a whole"),
        pytest.param("x.substring(2, 1)", "index out of range: 2", id="an end before its start"),
        pytest.param("x.substring(9)", "index out of range: 9", id="a start past the end"),
        pytest.param("x.charAt(4)", "index out of range: 4", id="a place past the end"),
        pytest.param("x.charAt(-1)", "index out of range: -1", id="a place before the start"),
        pytest.param("dyn([]).min()", "min called on empty list", id="the least of nothing"),
        pytest.param("dyn([]).max()", "max called on empty list", id="the most of nothing"),
        pytest.param("optional.none().value()", "optional.none() dereference", id="none"),
        pytest.param("dyn(1).size()", "no such overload", id="the size of a number"),
        pytest.param("dyn(1).startsWith('a')", "no such overload", id="a number as text"),
        pytest.param("dyn(1).hasValue()", "no such overload", id="a number as optional"),
        pytest.param("dyn('a').min()", "no such overload", id="a text as list"),
        pytest.param("dyn([1]).join()", "no such", id="numbers"),
        pytest.param("dyn('1').asInteger()", "no such overload", id="a text as quantity"),
        pytest.param("quantity('1').compareTo(dyn('1'))", "no such overload", id="two kinds"),
        pytest.param("dyn('1.2.3').major()", "no such overload", id="a text as version"),
        pytest.param("x.matches(x + '(')", "error parsing regexp", id="a pattern that is none"),
        pytest.param("string(dyn([1]))", "no such overload", id="a list as text"),
    ],
)
def test_a_call_without_a_value_says_why(source: str, message: str) -> None:
    with pytest.raises((EvaluationError, CompileError)) as failed:
        evaluate(source, "abc")
    assert message in str(failed.value)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{'a' * 9000!r}.matches('{'(.?){1000}' * 20}')", id="a large program"),
        pytest.param(f"{'a' * 9000!r}.find('{'(.?){1000}' * 20}') == ''", id="a search with it"),
        pytest.param(
            f"cel.bind(a, {'a' * 1000!r}, cel.bind(b, a.replace('a', a), "
            "b.findAll('a*b|a').size() > 0))",
            id="matches that each search the rest",
        ),
    ],
)
def test_patterns_that_take_long_exceed_the_cost(source: str) -> None:
    with pytest.raises(CostExceeded):
        evaluate(source)


@pytest.mark.parametrize("digits", ["1" * 9000, "0." + "0" * 9000 + "1", "1" * 5000 + "Ei"])
def test_quantities_of_too_many_digits_are_errors(digits: str) -> None:
    with pytest.raises(EvaluationError, match="quantities must match"):
        evaluate(f'quantity("{digits}").isGreaterThan(quantity("1"))')


def test_quantities_beyond_any_float_are_infinite() -> None:
    assert evaluate('quantity("1e400").asApproximateFloat() > 1e300')[0] is True
    assert evaluate('quantity("-1e400").asApproximateFloat() < -1e300')[0] is True
