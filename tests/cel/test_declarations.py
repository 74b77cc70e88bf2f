"""The table of functions."""

from __future__ import annotations

import pytest

from mooring.cel.declarations import functions, read_overload


@pytest.mark.parametrize(
    ("line", "name", "member", "arguments", "result", "parameters"),
    [
        ("f f_id () -> int", "f", False, [], "int", ()),
        ("f f_id (A, list(A)) -> bool", "f", False, ["A", "list(A)"], "bool", ("A",)),
        ("g g_id list(T).(int, int) -> map(K, T)", "g", True, None, "map(K, T)", ("K", "T")),
        ("h h_id kubernetes.URL.() -> string", "h", True, ["kubernetes.URL"], "string", ()),
    ],
)
def test_a_line_declares_an_overload(
    line: str,
    name: str,
    member: bool,
    arguments: list[str] | None,
    result: str,
    parameters: tuple[str, ...],
) -> None:
    found_name, found = read_overload(line)
    assert (found_name, found.id, found.member) == (name, f"{name}_id", member)
    expected = ["list(T)", "int", "int"] if arguments is None else arguments
    assert [one.text for one in found.arguments] == expected
    assert (found.result.text, found.parameters) == (result, parameters)


def test_the_overloads_of_a_function_keep_their_order() -> None:
    assert [one.id for one in functions()["size"] if not one.member] == [
        "size_bytes",
        "size_list",
        "size_map",
        "size_string",
    ]


def test_no_overload_is_declared_twice() -> None:
    ids = [one.id for overloads in functions().values() for one in overloads]
    assert len(ids) > 200
    assert sorted(ids) == sorted(set(ids))
