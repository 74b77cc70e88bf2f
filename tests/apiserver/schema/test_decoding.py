"""Request bodies."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.apiserver.schema.canonical import DecodeError
from mooring.apiserver.schema.decoding import (
    PROTOBUF,
    decode_body,
    duplicates,
    parse_json,
    read_body,
    strict_refusal,
)
from mooring.controlplane.type_table import types

JSON = "application/json"
POD = types().get("core.v1.Pod")
UNRECOGNIZED = "the object provided is unrecognized (must be of type Pod): "


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x",}',
            "couldn't get version/kind; json parse error: invalid character '}' looking for "
            'beginning of object key string ({"apiVersion":"v1","kind":"Pod ...)',
        ),
        (
            b"hello",
            "couldn't get version/kind; json parse error: invalid character 'h' looking for "
            "beginning of value (68656c6c6f)",
        ),
        (
            b"",
            "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            b'{"kind":5,"apiVersion":"v1"}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go "
            'struct field .kind of type string ({"kind":5,"apiVersion":"v1"})',
        ),
    ],
)
def test_a_body_that_is_none_is_refused_in_the_servers_words(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_body(body, JSON, POD, "Pod", "v1")
    assert str(raised.value) == UNRECOGNIZED + text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            b'{"kind":"ConfigMap","apiVersion":"v1"}',
            'ConfigMap in version "v1" cannot be handled as a Pod: converting (v1.ConfigMap) to '
            "(core.Pod): unknown conversion",
        ),
        (
            b'{"kind":"Foo","apiVersion":"v1"}',
            'Foo in version "v1" cannot be handled as a Pod: no kind "Foo" is registered for '
            'version "v1" in scheme "pkg/runtime/scheme.go:111"',
        ),
    ],
)
def test_a_body_of_another_kind_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(DecodeError) as raised:
        decode_body(body, JSON, POD, "Pod", "v1")
    assert str(raised.value) == text


def test_kind_and_version_may_be_left_out() -> None:
    body = decode_body(b'{"metadata":{"name":"x"}}', JSON, POD, "Pod", "v1")
    assert (body.object["kind"], body.object["apiVersion"]) == ("Pod", "v1")


def test_yaml_is_read_too() -> None:
    data = b"apiVersion: v1\nkind: Pod\nfoo: 1\nmetadata: {name: x}\n"
    body = decode_body(data, "application/yaml", POD, "Pod", "v1")
    assert body.errors == ['unknown field "foo"']


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("not", "invalid character 'o' in literal null (expecting 'u')"),
        ("tru", "unexpected end of JSON input"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("[" * 100_000, "exceeded max depth"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
    ],
)
def test_syntax_errors_are_gos(text: str, problem: str) -> None:
    with pytest.raises(DecodeError) as raised:
        parse_json(text)
    assert str(raised.value) == problem


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert parse_json('"\\ud800x"') == "\ufffdx"


def test_duplicates_are_found_without_a_schema() -> None:
    found = duplicates(parse_json('{"a":[{"b":1,"b":2}],"a":1}'))
    assert found == ['duplicate field "a[0].b"', 'duplicate field "a"']


def test_a_strict_refusal_lists_all() -> None:
    assert strict_refusal(["x", "y"], "Pod", "v1") == (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: x, y'
    )


@given(st.binary(max_size=300), st.sampled_from([JSON, "application/yaml", PROTOBUF]))
def test_no_body_does_harm(data: bytes, media: str) -> None:
    prefix = b"k8s\x00" if media == PROTOBUF else b""
    with contextlib.suppress(DecodeError):
        read_body(prefix + data, media, "Pod")
