"""Names that Kubernetes accepts, and resource names."""

from __future__ import annotations

import pytest

from mooring.api.names import (
    is_counted,
    is_extended_resource,
    is_scalar_resource,
    label_key_problems,
    label_value_problems,
)


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        *(("a", 0), ("example.com/Zone_1.a", 0), ("A_b.c-1", 0), ("x" * 63, 0)),
        *(("", 2), ("/a", 1), ("a/", 2), ("a/b/c", 1), ("-a", 1), ("Upper.com/a", 1)),
        *(("x" * 64, 1), ("a b", 1), (f"{'a' * 254}/c", 1), ("é", 1), ("zone\n", 1)),
    ],
)
def test_label_keys(key, problems):
    assert len(label_key_problems(key)) == problems


def test_label_values():
    assert not label_value_problems("")
    assert not label_value_problems("a.b_c-1")
    assert label_value_problems("a b")
    assert label_value_problems("-")
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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", True),
        ("ephemeral-storage", True),
        ("hugepages-2Mi", True),
        ("vendor.io/nic", True),
        ("pods", False),
        ("storage", False),
    ],
)
def test_counted_resources(name: str, expected: bool) -> None:
    assert is_counted(name) is expected
