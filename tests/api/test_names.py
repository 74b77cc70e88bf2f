"""Names that Kubernetes accepts, and resource names."""

from __future__ import annotations

import pytest

from mooring.api.names import (
    aggregate,
    is_extended_resource,
    is_scalar_resource,
    label_key_problems,
    label_value_problems,
)


@pytest.mark.parametrize("key", ["a", "example.com/a", "A_b.c-1", "x" * 63])
def test_label_keys(key):
    assert not label_key_problems(key)


@pytest.mark.parametrize("key", ["", "/a", "a/", "a/b/c", "-a", "Upper.com/a", "x" * 64, "a b"])
def test_no_label_keys(key):
    assert label_key_problems(key)


def test_label_values():
    assert not label_value_problems("")
    assert not label_value_problems("a.b_c-1")
    assert label_value_problems("a b")
    assert label_value_problems("x" * 64) == ("must be no more than 63 bytes",)


@pytest.mark.parametrize(
    ("name", "extended", "scalar"),
    [
        ("nvidia.com/gpu", True, True),
        ("cpu", False, False),
        ("memory", False, False),
        ("pods", False, False),
        ("hugepages-2Mi", False, True),
        ("attachable-volumes-csi-x", False, True),
        ("kubernetes.io/thing", False, True),
        ("requests.example.com/x", False, False),
        ("example.com/a/b", False, False),
    ],
)
def test_resources_that_the_scheduler_counts(name, extended, scalar):
    assert is_extended_resource(name) is extended
    assert is_scalar_resource(name) is scalar


def test_several_refusals_are_joined_once_each():
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"
