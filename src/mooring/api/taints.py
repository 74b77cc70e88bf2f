"""Taints and the tolerations that match them."""

# k8s.io/api: core/v1/toleration.go; component-helpers: scheduling/corev1/helpers.go

from __future__ import annotations

import re
from collections.abc import Iterable

from mooring.api.go_numbers import parse_int64
from mooring.api.node import Taint
from mooring.api.scheduling import Toleration

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

#: The effects that keep a pod off a node.
SCHEDULING_EFFECTS = frozenset((NO_SCHEDULE, NO_EXECUTE))

_DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)


def tolerates(toleration: Toleration, taint: Taint, comparison_operators: bool = False) -> bool:
    """Return whether a toleration matches a taint.

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


#: More tolerations than this are indexed by key; fewer are faster to check one by one.
_FEW = 16


class Tolerations:
    """The tolerations of one pod, for checking many taints."""

    __slots__ = ("_comparison_operators", "_index", "_tolerations")

    def __init__(self, tolerations: Iterable[Toleration], comparison_operators: bool) -> None:
        self._tolerations = tuple(tolerations)
        self._comparison_operators = comparison_operators
        #: By (key, effect); None if there are few tolerations, or before the first use.
        self._index: dict[tuple[str, str], _Answers] | None = None

    def tolerate(self, taint: Taint) -> bool:
        """Return whether any of the tolerations matches a taint."""
        tolerations, comparison = self._tolerations, self._comparison_operators
        if len(tolerations) <= _FEW:
            return any(tolerates(toleration, taint, comparison) for toleration in tolerations)
        if self._index is None:
            self._index = _index(tolerations)
        for key in (taint.key, ""):
            for effect in (taint.effect, ""):
                answers = self._index.get((key, effect))
                if answers is not None and answers.tolerate(taint, comparison):
                    return True
        return False

    def find_untolerated(
        self, taints: Iterable[Taint], effects: Iterable[str] = SCHEDULING_EFFECTS
    ) -> Taint | None:
        """Return the first taint with one of these effects that no toleration matches."""
        for taint in taints:
            if taint.effect in effects and not self.tolerate(taint):
                return taint
        return None


class _Answers:
    """The taint values that the tolerations of one key and effect match."""

    __slots__ = ("above", "any", "below", "values")

    def __init__(self) -> None:
        #: Whether one of them matches every value.
        self.any = False
        self.values: set[str] = set()
        #: Values less than `below` or greater than `above` match, if the gate is enabled.
        self.below: int | None = None
        self.above: int | None = None

    def add(self, toleration: Toleration) -> None:
        operator, value = toleration.operator, toleration.value
        if operator in ("", "Equal"):
            self.values.add(value)
        elif operator == "Exists":
            self.any = True
        elif operator in ("Lt", "Gt") and (bound := _decimal(value)) is not None:
            if operator == "Lt":
                self.below = bound if self.below is None else max(bound, self.below)
            else:
                self.above = bound if self.above is None else min(bound, self.above)

    def tolerate(self, taint: Taint, comparison_operators: bool) -> bool:
        if self.any or taint.value in self.values:
            return True
        if not comparison_operators or (found := _decimal(taint.value)) is None:
            return False
        return (self.below is not None and found < self.below) or (
            self.above is not None and found > self.above
        )


def _index(tolerations: Iterable[Toleration]) -> dict[tuple[str, str], _Answers]:
    index: dict[tuple[str, str], _Answers] = {}
    for toleration in tolerations:
        index.setdefault((toleration.key, toleration.effect), _Answers()).add(toleration)
    return index


def tolerated(
    tolerations: Iterable[Toleration], taint: Taint, comparison_operators: bool = False
) -> bool:
    """Return whether any of the tolerations matches a taint."""
    return any(tolerates(toleration, taint, comparison_operators) for toleration in tolerations)


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Iterable[Toleration],
    effects: Iterable[str] = SCHEDULING_EFFECTS,
    comparison_operators: bool = False,
) -> Taint | None:
    """Return the first taint with one of these effects that no toleration matches."""
    return Tolerations(tolerations, comparison_operators).find_untolerated(taints, effects)
