"""Responses as Go decodes them; the errors are Go's for the same bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import ExtenderError
from mooring.extenders.extender_results import (
    FilterAnswer,
    MetaVictims,
    read_binding,
    read_filter,
    read_preemption,
    read_priorities,
)

FILTER = "Go struct field ExtenderFilterResult"


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("{}", FilterAnswer()),
        ("null", FilterAnswer()),
        ('{"Error": null, "Nodes": null, "NodeNames": null, "FailedNodes": null}', FilterAnswer()),
        ('{"NodeNames": []}', FilterAnswer(node_names=())),
        ('{"NodeNames": ["a", null]}', FilterAnswer(node_names=("a", ""))),
        (
            '{"nodenames": ["a"], "faileDNodes": {"b": "no"}}',
            FilterAnswer(None, ("a",), {"b": "no"}),
        ),
        ('{"NODENAMES": ["a"], "NodeNames": ["b"]}', FilterAnswer(node_names=("b",))),
        ('{"NodeNames": ["b"], "nodeNames": ["a"]}', FilterAnswer(node_names=("a",))),
        ('{"Nodes": {}}', FilterAnswer(())),
        ('{"Nodes": {"items": [{"metadata": {"name": "a"}}, null]}}', FilterAnswer(("a", ""))),
        ('{"nodes": {"Items": [{"Metadata": {"Name": "a"}}]}}', FilterAnswer(("a",))),
        ('{"FailedNodes": {"a": null}}', FilterAnswer(failed={"a": ""})),
        (
            '{"failedAndUnresolvableNodes": {"a": "gone"}, "other": [1]}',
            FilterAnswer(failed_and_unresolvable={"a": "gone"}),
        ),
        ('{"error": "busy"} and more', FilterAnswer(error="busy")),
        ('{"Error": "\xff"}', FilterAnswer(error="\ufffd")),
    ],
)
def test_filter_answers_are_read_as_go_reads_them(body: str, answer: FilterAnswer) -> None:
    assert read_filter(body.encode("latin-1")) == answer


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "EOF"),
        (" \n", "EOF"),
        ("{", "unexpected EOF"),
        ('{"NodeNames":["a"', "unexpected EOF"),
        ('{"Error":"a', "unexpected EOF"),
        ("<html>", "invalid character '<' looking for beginning of value"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("{x:1}", "invalid character 'x' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ("[]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
        ('"x"', "json: cannot unmarshal string into Go value of type v1.ExtenderFilterResult"),
        ("3", "json: cannot unmarshal number into Go value of type v1.ExtenderFilterResult"),
        ("true", "json: cannot unmarshal bool into Go value of type v1.ExtenderFilterResult"),
        (
            '{"NodeNames":"a"}',
            f"json: cannot unmarshal string into {FILTER}.NodeNames of type []string",
        ),
        (
            '{"nodenames":[1]}',
            f"json: cannot unmarshal number into {FILTER}.NodeNames of type string",
        ),
        ('{"Nodes":[]}', f"json: cannot unmarshal array into {FILTER}.Nodes of type v1.NodeList"),
        (
            '{"Nodes":{"items":{}}}',
            "json: cannot unmarshal object into Go struct field NodeList.Nodes.items of type "
            "[]v1.Node",
        ),
        (
            '{"Nodes":{"items":[{"metadata":{"name":3}}]}}',
            "json: cannot unmarshal number into Go struct field "
            "ObjectMeta.Nodes.items.metadata.name of type string",
        ),
        (
            '{"FailedNodes":[]}',
            f"json: cannot unmarshal array into {FILTER}.FailedNodes of type v1.FailedNodesMap",
        ),
        (
            '{"FailedNodes":{"a":1}}',
            f"json: cannot unmarshal number into {FILTER}.FailedNodes of type string",
        ),
        ('{"Error":{}}', f"json: cannot unmarshal object into {FILTER}.Error of type string"),
    ],
)
def test_broken_filter_answers_fail_in_gos_words(body: str, problem: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        read_filter(body.encode())
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("body", "scores"),
    [
        ("null", {}),
        ("[]", {}),
        ('[{"Host": "a", "Score": 7}, {"host": "b", "score": 1}]', {"a": 7, "b": 1}),
        ('[{"Host": "a", "Score": 7}, {"Host": "a", "Score": 1}]', {"a": 8}),
        ('[{"Host": "a", "Score": null}, null]', {"a": 0, "": 0}),
        ('[{"Host":"a","Score":9223372036854775807},{"Host":"a","Score":1}]', {"a": -(2**63)}),
    ],
)
def test_scores_of_a_host_add_up(body: str, scores: dict[str, int]) -> None:
    assert read_priorities(body.encode()) == scores


@pytest.mark.parametrize(
    ("body", "found", "place"),
    [
        ("{}", "object", "Go value of type v1.HostPriorityList"),
        ("[1]", "number", "Go value of type v1.HostPriority"),
        ('[{"Host":1}]', "number", "Go struct field HostPriority.Host of type string"),
        ('[{"Score":1.5}]', "number 1.5", "Go struct field HostPriority.Score of type int64"),
        ('[{"Score":1.0}]', "number 1.0", "Go struct field HostPriority.Score of type int64"),
        ('[{"Score":"1"}]', "string", "Go struct field HostPriority.Score of type int64"),
        ('[{"Score":true}]', "bool", "Go struct field HostPriority.Score of type int64"),
    ],
)
def test_broken_scores_fail_in_gos_words(body: str, found: str, place: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        read_priorities(body.encode())
    assert str(raised.value) == f"json: cannot unmarshal {found} into {place}"


def test_a_score_beyond_int64_is_refused() -> None:
    with pytest.raises(
        ExtenderError, match=r"into Go struct field HostPriority\.Score of type int64"
    ):
        read_priorities(b'[{"Score":99999999999999999999}]')


def test_victims_come_by_node_and_uid() -> None:
    body = b"""{"nodeNameToMetaVictims": {
        "n1": {"pods": [{"uid": "u1"}, {"UID": "u2"}], "numPDBViolations": 1}, "n2": {}}}"""
    assert read_preemption(body) == {"n1": MetaVictims(("u1", "u2"), 1), "n2": MetaVictims()}
    assert read_preemption(b"{}") == {}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            '{"NodeNameToMetaVictims":[]}',
            "json: cannot unmarshal array into Go struct field "
            "ExtenderPreemptionResult.NodeNameToMetaVictims of type map[string]*v1.MetaVictims",
        ),
        (
            '{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":1}]}}}',
            "json: cannot unmarshal number into Go struct field "
            "MetaPod.NodeNameToMetaVictims.Pods.UID of type string",
        ),
        (
            '{"NodeNameToMetaVictims":{"a":null}}',
            "NodeNameToMetaVictims has null for node a, expected victims",
        ),
        (
            '{"NodeNameToMetaVictims":{"a":{"Pods":[null]}}}',
            "Pods has null for node a, expected a pod's UID",
        ),
    ],
)
def test_broken_victims_fail_with_a_clear_line(body: str, problem: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        read_preemption(body.encode())
    assert str(raised.value) == problem


def test_a_binding_answer_says_what_went_wrong() -> None:
    assert read_binding(b'{"error": "no room"}') == "no room"
    assert read_binding(b"{}") == ""
    with pytest.raises(ExtenderError, match=r"^EOF$"):
        read_binding(b"")


NAMES = st.sampled_from(
    (
        *("Nodes", "items", "metadata", "name", "NodeNames", "failedNodes", "Error"),
        *("Host", "score", "NodeNameToMetaVictims", "Pods", "UID", "numPDBViolations", "other"),
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
READERS: list[Any] = [read_filter, read_priorities, read_preemption, read_binding]


@given(value=VALUES, cut=st.integers(0, 200), tail=st.binary(max_size=3))
def test_whatever_comes_is_read_or_refused(value: Any, cut: int, tail: bytes) -> None:
    body = json.dumps(value).encode()
    for read in READERS:
        for sent in (body, body[:cut], body[:cut] + tail, tail):
            try:
                read(sent)
            except ExtenderError as error:
                assert str(error)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'[{"Score":' + b"9" * 5000 + b"}] x"],
    ids=["deep lists", "deep objects", "a long number", "a long score"],
)
def test_monstrous_answers_are_refused(read: Any, body: bytes) -> None:
    with pytest.raises(ExtenderError):
        read(body)
