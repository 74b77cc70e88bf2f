"""The errors and warnings of a file, with their places in it."""

from __future__ import annotations

import pytest

from mooring.api.field_errors import FieldError
from mooring.config.config_problems import Problems
from mooring.config.decode import UnknownField
from mooring.config.positions import Mark, parse
from mooring.errors import ConfigErrors

TEXT = "a: 1\nlist:\n- name: x\n  wieght: 2\n"


def make() -> Problems:
    return Problems("config.yaml", parse(TEXT).positions)


def raised(problems: Problems) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        problems.raise_if_any()
    return str(caught.value).split("\n")


def test_no_problem_raises_nothing() -> None:
    problems = make()
    problems.warn("a", "careful")
    problems.raise_if_any()
    assert problems.warnings == ("config.yaml:1:4: a: careful",)


def test_errors_come_in_the_order_of_the_file() -> None:
    problems = make()
    problems.add([FieldError("list[0].name", "late"), FieldError("a", "early")])
    assert raised(problems) == [
        "config.yaml:1:4: a: early",
        "config.yaml:3:9: list[0].name: late",
    ]


def test_an_unknown_field_is_shown_at_its_key() -> None:
    problems = make()
    problems.add([UnknownField("list[0].wieght", "unknown")])
    assert raised(problems) == ["config.yaml:4:3: list[0].wieght: unknown"]


def test_an_error_that_follows_from_an_earlier_step_is_left_out() -> None:
    problems = make()
    problems.add([FieldError("list[0]", "first")])
    problems.add(
        [
            FieldError("list[0].name", "below it"),
            FieldError("list", "around it"),
            FieldError("list[0]", "the same place"),
            FieldError("a", "elsewhere"),
        ]
    )
    assert [line.rpartition(" ")[2] for line in raised(problems)] == ["elsewhere", "first"]


def test_a_name_that_only_begins_alike_is_another_place() -> None:
    problems = make()
    problems.add([FieldError("a", "one")])
    problems.add([FieldError("ab", "two")])
    assert len(raised(problems)) == 2


def test_errors_of_one_step_do_not_hide_each_other() -> None:
    problems = make()
    problems.add([FieldError("a", "one"), FieldError("a", "two"), FieldError("a", "two")])
    assert len(raised(problems)) == 2


def test_paths_of_a_converted_file_are_those_of_the_original() -> None:
    problems = make()
    problems.origin = lambda path: path.replace("profiles", "list")
    problems.add([FieldError("profiles[0].name", "bad")])
    problems.warn("profiles[0].name", "careful")
    problems.add_original([FieldError("a", "also bad")])
    assert raised(problems) == [
        "config.yaml:1:4: a: also bad",
        "config.yaml:3:9: list[0].name: bad",
    ]
    assert problems.warnings == ("config.yaml:3:9: list[0].name: careful",)


def test_errors_may_bring_their_place_or_have_none() -> None:
    problems = make()
    problems.add_marked([(FieldError("", "broken"), Mark(7, 2)), (FieldError("", "all"), None)])
    assert raised(problems) == ["config.yaml: all", "config.yaml:7:2: broken"]


def test_a_warning_is_told_once_and_may_concern_the_whole_file() -> None:
    problems = make()
    for _ in range(2):
        problems.warn("", "old")
    assert problems.warnings == ("config.yaml: old",)
