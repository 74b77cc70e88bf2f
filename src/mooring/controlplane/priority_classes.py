"""Priority classes: those that every cluster has, and the one that applies by default."""

# kubernetes: pkg/apis/scheduling/types.go, plugin/pkg/admission/priority/admission.go

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"

#: The values of the priority classes that every cluster has.
SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}

T = TypeVar("T")


def no_priority_class(name: str) -> str:
    """Return the message for a priority class that does not exist."""
    return f"no PriorityClass with name {name} was found"


def default_priority_class(classes: Iterable[tuple[T, bool, int]]) -> T | None:
    """Return the class of objects that name none, or None.

    A class is given with whether it is the global default, and its value. A race may have left two
    defaults; the lower value wins.
    """
    defaults = ((value, each) for each, is_default, value in classes if is_default)
    return min(defaults, key=lambda row: row[0], default=(0, None))[1]
