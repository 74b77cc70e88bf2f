"""The documents of extender/v1, written by one side and read by the other."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from mooring.errors import ExtenderError
from mooring.extenders.extender_arguments import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterDocument,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictimsDocument,
    NodeListDocument,
    is_null,
    read_arguments,
    requests_any,
)
from mooring.testing import make_pod


def written(document: Any) -> Any:
    return json.loads(msgspec.json.encode(document))


def test_results_have_the_fields_of_go() -> None:
    names = ExtenderFilterDocument(
        node_names=["a"], failed_nodes={"b": "full"}, failed_and_unresolvable_nodes={"c": "old"}
    )
    assert written(names) == {
        "Nodes": None,
        "NodeNames": ["a"],
        "FailedNodes": {"b": "full"},
        "FailedAndUnresolvableNodes": {"c": "old"},
        "Error": "",
    }
    whole = ExtenderFilterDocument(nodes=NodeListDocument([msgspec.Raw(b'{"x":1}')]))
    assert written(whole)["Nodes"] == {"items": [{"x": 1}]}
    assert written([HostPriority("a", 10)]) == [{"Host": "a", "Score": 10}]
    victims = MetaVictimsDocument([MetaPod("u")], 2)
    assert written(ExtenderPreemptionResult({"a": victims})) == {
        "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 2}}
    }
    assert written(ExtenderBindingResult("no")) == {"Error": "no"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"Pod":{"a":1},"Nodes":null,"NodeNames":["x"]}',
        b'{"pod":{"a":1},"nodes":null,"nodenames":["x"]}',
        b'{"Pod":{"a":1},"NodeNames":["x"],"Unknown":7}',
    ],
    ids=["as Go writes it", "in lower case", "with more fields"],
)
def test_a_request_is_read(body: bytes) -> None:
    found = read_arguments(body, ExtenderArgs)
    assert bytes(found.pod) == b'{"a":1}'
    assert is_null(found.nodes)
    assert found.node_names == ["x"]


def test_missing_lists_are_read_as_go_does() -> None:
    body = b'{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{"n":{"Pods":null}}}'
    found = read_arguments(body, ExtenderPreemptionArgs)
    assert found.node_name_to_victims is None
    assert found.node_name_to_meta_victims == {"n": MetaVictimsDocument()}
    binding = b'{"PodName":"p","PodNamespace":"d","PodUID":"u","Node":"n"}'
    assert read_arguments(binding, ExtenderBindingArgs) == ExtenderBindingArgs("p", "d", "u", "n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "EOF"),
        (b"no", "invalid character 'n' looking for beginning of value"),
        (b"\xff", "invalid character"),
        (b"3", "not a request of extender/v1: Expected `object`, got `int`"),
        (b'{"PodName":3}', "not a request of extender/v1: "),
        (b"[" * 100_000, "exceeded max depth"),
    ],
)
def test_what_is_not_a_request_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(ExtenderError, match=said):
        read_arguments(body, ExtenderBindingArgs)


def test_requests_and_limits_count() -> None:
    gpu = frozenset({"example.com/gpu"})
    assert requests_any(make_pod("p", requests={"example.com/gpu": 1}), gpu)
    assert not requests_any(make_pod("p", cpu=1), gpu)
