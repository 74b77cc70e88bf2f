"""YAML documents and their lines."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mooring.api.yaml_documents import load_documents

TEXT = """\
# first
spec:
  containers:
  - name: a
  - name: b
    ports: [1, 2]
---
other:
  key.with.dots: 1
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 2),
        ("spec", 3),
        ("spec.containers[1]", 5),
        ("spec.containers[1].ports[1]", 6),
        ("spec.containers[1].image", 5),
        ("spec.containers[7].image", 4),
    ],
)
def test_a_path_leads_to_its_line(path, line):
    first, second = load_documents(TEXT)
    assert first.line(path) == line
    assert second.line("other") == 9


def test_maps_near_the_top_know_their_line():
    first, _ = load_documents(TEXT)
    containers = first.value["spec"]["containers"]
    assert [first.line_of(container) for container in containers] == [4, 5]
    assert first.line_of({}) is None


def test_every_form_of_scalar():
    text = (
        "a: 'y'\nb: \"1\"\nc: |\n  two\n  lines\nd: !!str 3\ne: !!float 4\n"
        "f: {1: 2, true: 3}\ng: [<<]\n"
    )
    (document,) = load_documents(text)
    assert document.value == {
        "a": "y",
        "b": "1",
        "c": "two\nlines\n",
        "d": "3",
        "e": 4.0,
        "f": {"1": 2, "true": 3},
        "g": ["<<"],
    }


def test_merged_maps_give_way_to_what_is_written():
    text = "a: &a {x: 1, z: 1}\nb: &b {x: 2, w: 2}\nc: {z: 9, <<: [*a, *b]}\n"
    (document,) = load_documents(text)
    assert document.value["c"] == {"z": 9, "x": 1, "w": 2}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(json_values, st.booleans())
def test_what_is_written_is_read_again(value, flow):
    # Quoted, because PyYAML does not quote some words that Kubernetes does not read as strings,
    # such as y and 1e3.
    text = yaml.safe_dump(value, default_flow_style=flow, default_style='"')
    documents = list(load_documents(text))
    assert [document.value for document in documents] == ([] if value is None else [value])
