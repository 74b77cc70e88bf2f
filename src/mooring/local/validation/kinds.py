"""Which checks belong to which kind."""

from __future__ import annotations

from collections.abc import Callable

from mooring.local.validation import pods
from mooring.local.validation.metadata import NameCheck
from mooring.local.validation.problems import Object, Problem

NAMES: dict[str, NameCheck] = {}
"""What the names of some kinds must satisfy beyond what `name_check` says."""

CREATES: dict[tuple[str, str], Callable[[Object], list[Problem]]] = {
    ("v1", "Pod"): pods.check_pod,
    ("v1", "Binding"): pods.check_binding,
}
"""The checks of new objects, by group version and kind."""

UPDATES: dict[tuple[str, str, str], Callable[[Object, Object], list[Problem]]] = {
    ("v1", "Pod", ""): pods.check_pod_update,
    ("v1", "Pod", "status"): pods.check_pod_status,
}
"""The checks of changes, by group version, kind and subresource."""
