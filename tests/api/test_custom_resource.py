"""Objects of kinds that Mooring does not know."""

from __future__ import annotations

import json

import pytest

from mooring.api import CustomResource, decode, encode
from mooring.api.kinds import encode_json


def test_unknown_kinds_keep_everything():
    raw = {
        "apiVersion": "example.com/v1",
        "kind": "Gang",
        "metadata": {"name": "g", "namespace": "n"},
        "spec": {"size": 3, "items": [{"a": 1}]},
    }
    gang = decode(raw)
    assert isinstance(gang, CustomResource)
    assert (gang.kind, gang.key) == ("Gang", "n/g")
    assert gang.get("spec.size") == 3
    assert gang.get("spec.items.0.a") == 1
    assert gang.get("spec.items.7.a", "none") == gang.get("spec.x.y", "none") == "none"
    assert encode(gang) == raw
    assert json.loads(encode_json(gang)) == raw


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("spec", {"a": [{"b": None}], "0": "zero"}, id="a field"),
        pytest.param("spec.a.0", {"b": None}, id="an element of a list"),
        pytest.param("spec.0", "zero", id="a key that is a number"),
        pytest.param("spec.a.0.b", None, id="a null that is there"),
        pytest.param("spec.a.1", "absent", id="past the end of a list"),
        pytest.param("spec.a.-1", "absent", id="no index is negative"),
        pytest.param("spec.a.b", "absent", id="a word in a list"),
        pytest.param("spec.0.x", "absent", id="below a text"),
        pytest.param("", "absent", id="no path"),
    ],
)
def test_a_path_leads_to_a_value_or_to_the_default(path, value):
    found = CustomResource(raw={"spec": {"a": [{"b": None}], "0": "zero"}})
    assert found.get(path, "absent") == value
