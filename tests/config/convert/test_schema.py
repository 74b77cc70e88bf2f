"""Older documents, checked against the fields of their version."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.config.convert.schema import (
    args_version,
    can_go_on,
    check,
    check_args,
    fields_of,
    root_of,
    without_nulls,
    without_unknown,
)
from mooring.config.decode import UnknownField


@pytest.mark.parametrize(
    ("doc", "errors"),
    [
        pytest.param({"parallelism": 4}, [], id="an integer"),
        pytest.param(
            {"parallelism": True},
            ["parallelism: must be an integer, got true"],
            id="a boolean is no integer",
        ),
        pytest.param(
            {"parallelism": 2**31},
            ["parallelism: must be an integer that fits in int32, got 2147483648"],
            id="a large integer",
        ),
        pytest.param(
            {"enableProfiling": "yes"},
            ['enableProfiling: must be true or false, got "yes"'],
            id="a text for a boolean",
        ),
        pytest.param(
            {"leaderElection": {"leaseDuration": "15"}},
            ['leaderElection.leaseDuration: must be a duration such as "15s", got "15"'],
            id="a duration without a unit",
        ),
        pytest.param(
            {"leaderElection": {"leaseDuration": 15}},
            ['leaderElection.leaseDuration: must be a duration such as "15s", got 15'],
            id="a number for a duration",
        ),
        pytest.param(
            {"clientConnection": {"qps": "fast"}},
            ['clientConnection.qps: must be a number, got "fast"'],
            id="a text for a number",
        ),
        pytest.param({"clientConnection": {"qps": 1}}, [], id="an integer is a number"),
        pytest.param(
            {"profiles": {}}, ["profiles: must be a list, got a mapping"], id="a mapping for a list"
        ),
        pytest.param(
            {"profiles": [7]},
            ["profiles[0]: must be a mapping, got 7"],
            id="a number for a profile",
        ),
        pytest.param(
            {"extenders": [{"tlsConfig": {"caData": "%"}}]},
            ['extenders[0].tlsConfig.caData: must be base64 text, got "%"'],
            id="data that is not base64",
        ),
        pytest.param(
            {"extenders": [{"tlsConfig": {"caData": 7}}]},
            ["extenders[0].tlsConfig.caData: must be base64 text, got 7"],
            id="data that is no text",
        ),
        pytest.param(
            {"profiles": [{"pluginConfig": [{"args": 7}]}]}, [], id="args may be anything"
        ),
        pytest.param(
            {"paralelism": 4},
            ['paralelism: unknown field "paralelism", did you mean "parallelism"?'],
            id="a misspelt field",
        ),
        pytest.param(
            {"zzz": 4},
            ['zzz: unknown field "zzz", v1beta2 has no such field here'],
            id="a field that is like none",
        ),
        pytest.param([], [": must be a mapping, got a list"], id="no document"),
    ],
)
def test_every_problem_is_told_with_its_path(doc: Any, errors: list[str]) -> None:
    assert [f"{one.path}: {one.message}" for one in check(doc, "v1beta2")] == errors


def test_args_are_checked_if_their_type_is_known() -> None:
    args = {"hardPodAffinityWeight": "heavy"}
    (error,) = check_args(args, "InterPodAffinity", "v1beta2", "x.args")
    assert str(error) == 'x.args.hardPodAffinityWeight: must be an integer, got "heavy"'
    assert check_args(args, "Mine", "v1beta2", "x.args") == []


def test_the_args_of_the_alphas_are_those_of_the_first_beta() -> None:
    assert [args_version(one) for one in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta3")] == [
        "v1beta1",
        "v1beta1",
        "v1beta1",
        "v1beta3",
    ]


def test_only_unknown_fields_let_the_conversion_go_on() -> None:
    unknown, wrong = UnknownField("a", "unknown"), FieldError("b", "wrong")
    assert can_go_on([unknown])
    assert can_go_on([])
    assert not can_go_on([unknown, wrong])


def test_unknown_fields_are_left_out_at_every_depth() -> None:
    doc = {"parallelism": 1, "x": 2, "profiles": [{"y": 3, "schedulerName": "a"}, 7]}
    assert without_unknown(doc, "v1beta2") == {
        "parallelism": 1,
        "profiles": [{"schedulerName": "a"}, 7],
    }


def test_null_fields_are_left_out_and_null_elements_are_not() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None}], "d": 0}) == {
        "b": [None, {}],
        "d": 0,
    }


def test_the_fields_of_a_type() -> None:
    assert root_of("v1beta2") == "KubeSchedulerConfiguration"
    assert fields_of("v1beta2", "PluginSet") == {"enabled": "[]Plugin", "disabled": "[]Plugin"}
