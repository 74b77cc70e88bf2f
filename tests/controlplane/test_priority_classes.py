"""The priority classes that every cluster has, and the default one."""

from __future__ import annotations

from mooring.controlplane.priority_classes import (
    SYSTEM_PRIORITIES,
    default_priority_class,
    no_priority_class,
)


def test_lower_value_wins_among_defaults() -> None:
    classes = [("high", True, 10), ("low", True, 5), ("lowest", False, 1)]
    assert default_priority_class(classes) == "low"
    assert default_priority_class([("a", False, 1)]) is None
    assert default_priority_class([]) is None


def test_equal_values_never_compare_the_classes() -> None:
    first, second = object(), object()
    assert default_priority_class([(first, True, 1), (second, True, 1)]) is first


def test_system_classes_are_above_all_others() -> None:
    assert min(SYSTEM_PRIORITIES.values()) == 2_000_000_000
    assert no_priority_class("x") == "no PriorityClass with name x was found"
