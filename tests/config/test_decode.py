from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from mooring.api.durations import Duration
from mooring.config.decode import Decoder, UnknownField, suggest


class Inner(msgspec.Struct, kw_only=True):
    name: str
    size: int = 1


class Point(msgspec.Struct, array_like=True):
    x: int
    y: int


class Sample(msgspec.Struct, kw_only=True, rename="camel"):
    inner_list: list[Inner] = []
    by_name: dict[str, Inner] = {}
    words: tuple[str, ...] = ()
    ratio: float = 0.5
    level: Annotated[int, msgspec.Meta(ge=0, le=10)] = 0
    mode: Literal["fast", "slow"] = "fast"
    wait: Duration | None = None
    data: bytes = b""
    either: int | str = 0
    point: Point | None = None
    few: Annotated[list[str], msgspec.Meta(max_length=1)] = []
    anything: Any = None

    def __post_init__(self) -> None:
        if self.level == 7:
            raise ValueError("level must not be 7")


def decode(data: object) -> tuple[Sample | None, dict[str, str]]:
    decoder = Decoder()
    value = decoder.struct(data, Sample, "args")
    return value, {error.path: error.message for error in decoder.errors}


def test_every_kind_of_field_is_built() -> None:
    value, errors = decode(
        {
            "innerList": [{"name": "a"}, {"name": "b", "size": 2}],
            "byName": {"c": {"name": "c"}},
            "words": ["x"],
            "ratio": 1,
            "level": 10,
            "mode": "slow",
            "wait": "1m",
            "data": "YQ==",
            "either": "z",
            "point": [1, 2],
            "few": ["one"],
            "anything": {"a": [1]},
        }
    )
    assert errors == {}
    assert value == Sample(
        inner_list=[Inner(name="a"), Inner(name="b", size=2)],
        by_name={"c": Inner(name="c")},
        words=("x",),
        ratio=1.0,
        level=10,
        mode="slow",
        wait=Duration.from_seconds(60),
        data=b"a",
        either="z",
        point=Point(1, 2),
        few=["one"],
        anything={"a": [1]},
    )


def test_every_error_is_found_at_once() -> None:
    _, errors = decode(
        {
            "innerList": [{"size": "big"}, 5, {"name": None}],
            "byName": {"c": {"nmae": "c"}},
            "words": ["x", 1],
            "ratio": "half",
            "level": 11,
            "mode": "medium",
            "wait": 60,
            "data": "?",
            "either": [],
            "point": [1, "b"],
            "few": ["one", "two"],
            "Words": [],
        }
    )
    assert errors == {
        "args.innerList[0].size": 'must be an integer, got "big"',
        "args.innerList[0].name": "Required value",
        "args.innerList[1]": "must be a mapping, got 5",
        "args.innerList[2].name": "Required value",
        "args.byName.c.nmae": 'unknown field "nmae", did you mean "name"?',
        "args.byName.c.name": "Required value",
        "args.words[1]": "must be a string, got 1",
        "args.ratio": 'must be a number, got "half"',
        "args.level": "Expected `int` <= 10, got 11",
        "args.mode": 'must be one of "fast", "slow", got "medium"',
        "args.wait": 'must be a duration such as "15s", got 60',
        "args.data": 'must be base64 text, got "?"',
        "args.either": "must be an integer or a string, got a list",
        "args.point[1]": "must be an integer, got a string",
        "args.few": "Expected `array` of length <= 1, got a list",
        "args.Words": 'unknown field "Words", did you mean "words"?',
    }


def test_null_counts_as_absent_unless_the_type_says_what_it_means() -> None:
    value, errors = decode({"words": None, "wait": None, "level": None})
    assert errors == {}
    assert value == Sample()


def test_a_check_of_the_struct_itself_is_an_error_at_its_path() -> None:
    value, errors = decode({"level": 7})
    assert value is None
    assert errors == {"args": "level must not be 7"}


@pytest.mark.parametrize("data", [[], "text", 5, True])
def test_only_a_mapping_is_a_struct(data: object) -> None:
    value, errors = decode(data)
    assert value is None
    assert errors["args"].startswith("must be a mapping, got ")


def test_unknown_fields_are_told_apart_so_that_the_key_can_be_shown() -> None:
    decoder = Decoder()
    decoder.struct({"zzz": 1}, Inner, "")
    assert isinstance(decoder.errors[0], UnknownField)
    assert decoder.errors[0].message == 'unknown field "zzz", expected one of name, size'


def test_a_suggestion_ignores_case_and_small_slips() -> None:
    assert suggest("multipoint", ["multiPoint"]) == ', did you mean "multiPoint"?'
    assert suggest("wieght", ["weight", "name"]) == ', did you mean "weight"?'
    assert suggest("banana", ["weight", "name"]) == ""
