"""The types of expressions, and the errors in them."""

from __future__ import annotations

import pytest

from tests.cel.expressions import checked

VARIABLES = {"n": "dyn", "pod": "test.Pod", "labels": "map(string, string)"}


@pytest.mark.parametrize(
    ("source", "type"),
    [
        ("1 + 2", "int"),
        ("n + 1.5", "double"),
        ("[1, 2]", "list(int)"),
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("{'a': [1]}", "map(string, list(int))"),
        ("[dyn(1), n]", "list(dyn)"),
        ("pod.name", "string"),
        ("labels.app", "string"),
        ("labels['app']", "string"),
        ("labels.?app", "optional_type(string)"),
        ("labels[?'app']", "optional_type(string)"),
        ("optional.of(pod).name", "optional_type(string)"),
        ("has(pod.name)", "bool"),
        ("[1].map(a, string(a))", "list(string)"),
        ("labels.map(k, k)", "list(string)"),
        ("['a'].transformMap(i, v, v)", "map(int, string)"),
        ("[1].exists(a, a > 0) && true", "bool"),
        ("true ? 1 : n", "dyn"),
        ("type(1)", "type(int)"),
        ("google.protobuf.Duration", "type(duration)"),
        ("[?labels.?app]", "list(string)"),
        ("[?n]", "list(dyn)"),
        ("{?'a': labels.?app}", "map(string, string)"),
        ("null", "null"),
        ("n.a.b[0]", "dyn"),
        ("[].map(a, a.b)", "list(dyn)"),
        ("[[], [1]]", "list(list(int))"),
        ("'%d %s'.format([1, 'a'])", "string"),
        ("n.map(a, a)", "list(dyn)"),
    ],
)
def test_the_type_of_an_expression(source: str, type: str) -> None:
    node, found = checked(source, **VARIABLES)
    assert found.issues == []
    assert found.types[node.id].text == type


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        ("nobody", ["undeclared reference to 'nobody' (in container '')"]),
        ("nothing(1)", ["undeclared reference to 'nothing' (in container '')"]),
        ("pod.age", ["undefined field 'age'"]),
        ("(1).a", ["type 'int' does not support field selection"]),
        ("1 + 'a'", ["found no matching overload for '_+_' applied to '(int, string)'"]),
        ("(1).trim()", ["found no matching overload for 'trim' applied to 'int.()'"]),
        (
            "1 && 'a'",
            ["expected type 'bool' but found 'int'"] * 1
            + ["expected type 'bool' but found 'string'"],
        ),
        ("[1, 'a']", ["expected type 'int' but found 'string'"]),
        ("[1, n, 'a']", ["expected type 'int' but found 'dyn'"]),
        ("[[n], [1]]", ["expected type 'list(dyn)' but found 'list(int)'"]),
        ("[?labels.?app, 1]", ["expected type 'string' but found 'int'"]),
        (
            "{1: n, 2: 'a', 3: 4}",
            ["expected type 'dyn' but found 'string'", "expected type 'dyn' but found 'int'"],
        ),
        ("{'a': 1, 2: 2}", ["expected type 'string' but found 'int'"]),
        ("[?1]", ["expected type 'optional_type(int)' but found 'int'"]),
        ("{?'a': 1}", ["expected type 'optional_type(int)' but found 'int'"]),
        (
            "(1).all(a, true)",
            [
                "expression of type 'int' cannot be range of a comprehension "
                "(must be list, map, or dynamic)"
            ],
        ),
        ("'a'.matches('(')", ["invalid matches argument"]),
        ("nobody.name && nobody", ["undeclared reference to 'nobody' (in container '')"] * 2),
    ],
)
def test_the_errors_of_an_expression(source: str, messages: list[str]) -> None:
    _, found = checked(source, **VARIABLES)
    assert [issue.message for issue in found.issues] == messages


def test_an_error_knows_its_place() -> None:
    _, found = checked("true && (1 + 'a' == 2)", **VARIABLES)
    assert [issue.place for issue in found.issues] == [11]


def test_the_variables_that_are_read_are_told() -> None:
    _, found = checked("[1].exists(n, n > 0) && pod.name == labels.app", **VARIABLES)
    assert found.read == {"pod", "labels"}


def test_the_overloads_of_a_call() -> None:
    node, found = checked("1 + 2")
    assert found.overloads[node.id] == ("add_int64",)
    node, found = checked("n + n", n="dyn")
    assert {"add_int64", "add_string", "add_list"} <= {*found.overloads[node.id]}


def test_a_function_whose_name_has_a_dot() -> None:
    node, found = checked("sets.contains([1], [1])")
    assert found.qualified[node.id] == "sets.contains"


def test_the_name_of_a_type_is_no_variable() -> None:
    node, found = checked("int")
    assert found.type_names == {node.id: "int"}
    node, found = checked("int", int="string")
    assert found.types[node.id].text == "string"
