"""Causes: the nodes of an attempt grouped by why they were refused, with examples and amounts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.cycle.profile import Profile
from mooring.explain.filter_verdicts import PASSES, FilterVerdicts
from mooring.framework.diagnosis import Detail, Diagnosis, Shortfall
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.typing import Codes

log = logging.getLogger(__name__)

#: At most this many nodes are diagnosed to find the nearest misses of one cause.
MOST_DIAGNOSED = 1000


class Cause(msgspec.Struct, frozen=True):
    """Some nodes that were refused for the same reasons, and what is known of one of them."""

    status: Status
    #: How many nodes.
    nodes: int
    example: str
    #: What the plugin says about the example.
    diagnosis: Diagnosis = None


class NearMiss(msgspec.Struct, frozen=True):
    """Nodes that one plugin alone refuses, and what would make it pass them."""

    status: Status
    nodes: int
    example: str
    #: What the pod would have to ask for less, by resource; empty if it is not about resources.
    missing: Mapping[str, int] = {}


class Diagnoser:
    """The `diagnose` methods of a profile's Filter plugins, for one pod and one snapshot."""

    def __init__(self, profile: Profile, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        self._methods: dict[str, Any] = {
            step.name: method
            for step in profile.filter
            if callable(method := getattr(profile.plugins[step.name], "diagnose", None))
        }
        self._state = state
        self._pod = pod
        self._nodes = nodes.all
        self._known: dict[tuple[str, int], Diagnosis] = {}

    def of_row(self, plugin: str, row: int) -> Diagnosis:
        """Return what a plugin says about a node that it refuses; None if it has nothing to say.

        An explanation must not fail because of this: an exception is logged.
        """
        key = (plugin, row)
        if key not in self._known:
            self._known[key] = self._ask(plugin, row)
        return self._known[key]

    def _ask(self, plugin: str, row: int) -> Diagnosis:
        method = self._methods.get(plugin)
        if method is None:
            return None
        try:
            found = method(self._state, self._pod, self._nodes.info(row))
            return found if found is None or isinstance(found, str | Detail) else tuple(found)
        except BaseException as error:
            raise_if_external(error)
            log.warning("plugin %s: diagnose: %s", plugin, error_text(error))
            return None

    def distinct(self, rows: Rows) -> tuple[Rows, Codes]:
        """Return one row of each kind of node among `rows`, and the kind of every row."""
        kinds = self._nodes.kinds()
        codes = kinds.spread(np.arange(len(kinds.nodes)))[rows]
        _, first, kind = np.unique(codes, return_index=True, return_inverse=True)
        return rows[first], kind.astype(np.int32)


def causes_of(verdicts: FilterVerdicts, diagnoser: Diagnoser) -> list[Cause]:
    """Group the refused nodes by their first refusal, the largest group first."""
    return [
        Cause(
            status,
            len(rows),
            verdicts.names[rows[0]],
            diagnoser.of_row(status.plugin, int(rows[0])),
        )
        for status, rows in verdicts.groups(verdicts.first)
    ]


def near_misses(verdicts: FilterVerdicts, diagnoser: Diagnoser) -> list[NearMiss]:
    """Return the nodes that exactly one plugin refuses, those that lack least first."""
    alone = np.where(verdicts.asked & (verdicts.refusals == 1), verdicts.first, PASSES)
    found: list[NearMiss] = []
    for status, rows in verdicts.groups(alone.astype(np.int32)):
        if not status.is_rejected:
            continue
        example = verdicts.names[rows[0]]
        if not isinstance(diagnoser.of_row(status.plugin, int(rows[0])), tuple):
            found.append(NearMiss(status, len(rows), example))
            continue
        found += _by_amounts(status, rows, verdicts.names, diagnoser)
    return found


def _by_amounts(
    status: Status, rows: Rows, names: Sequence[str], diagnoser: Diagnoser
) -> Iterable[NearMiss]:
    """Yield the nodes that lack least, and all nodes if they lack different amounts."""
    examples, kinds = diagnoser.distinct(rows)
    sizes = np.bincount(kinds, minlength=len(examples))
    amounts: list[tuple[dict[str, int], int, int]] = []
    for example, size in zip(examples[:MOST_DIAGNOSED].tolist(), sizes.tolist(), strict=False):
        short = diagnoser.of_row(status.plugin, example)
        if isinstance(short, tuple) and short:
            amounts.append((_missing(short), int(size), example))
    if not amounts:
        return
    least, _, nearest = min(amounts, key=lambda found: sorted(found[0].values(), reverse=True))
    most: dict[str, int] = {}
    for missing, _, _ in amounts:
        for resource, amount in missing.items():
            most[resource] = max(amount, most.get(resource, 0))
    near = sum(size for missing, size, _ in amounts if _within(missing, least))
    yield NearMiss(status, near, names[nearest], least)
    others = [(size, row) for missing, size, row in amounts if not _within(missing, least)]
    if others:
        count = sum(size for size, _ in others)
        yield NearMiss(status, count, names[others[0][1]], most)


def _missing(shortfalls: Iterable[Shortfall]) -> dict[str, int]:
    return {short.resource: short.missing for short in shortfalls}


def _within(missing: Mapping[str, int], limit: Mapping[str, int]) -> bool:
    return all(amount <= limit.get(resource, 0) for resource, amount in missing.items())
