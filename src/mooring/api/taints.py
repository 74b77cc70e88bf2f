"""Taints and the tolerations that answer them."""

# k8s.io/api: core/v1/toleration.go; component-helpers: scheduling/corev1/helpers.go

from __future__ import annotations

import re
from collections.abc import Iterable

from mooring.api.labels import parse_int64
from mooring.api.node import Taint
from mooring.api.scheduling import Toleration

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

SCHEDULING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))
"""The effects that keep a pod off a node."""

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def tolerates(toleration: Toleration, taint: Taint, comparison_operators: bool = False) -> bool:
    """Tell whether a toleration answers a taint.

    `comparison_operators` is the gate TaintTolerationComparisonOperators: without it Lt and Gt
    match nothing.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    operator = toleration.operator
    if operator in ("", "Equal"):
        return toleration.value == taint.value
    if operator == "Exists":
        return True
    if operator in ("Lt", "Gt") and comparison_operators:
        bound, found = _decimal(toleration.value), _decimal(taint.value)
        if bound is None or found is None:
            return False
        return found < bound if operator == "Lt" else found > bound
    return False


def _decimal(text: str) -> int | None:
    return parse_int64(text) if _DECIMAL.fullmatch(text) else None


def tolerated(
    tolerations: Iterable[Toleration], taint: Taint, comparison_operators: bool = False
) -> bool:
    """Tell whether any of the tolerations answers a taint."""
    return any(tolerates(toleration, taint, comparison_operators) for toleration in tolerations)


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Iterable[Toleration],
    effects: Iterable[str] = SCHEDULING_EFFECTS,
    comparison_operators: bool = False,
) -> Taint | None:
    """Return the first taint with one of these effects that no toleration answers."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in effects and not tolerated(tolerations, taint, comparison_operators):
            return taint
    return None
