"""What-if questions of the page: computed in a thread, on a copy of the cluster's objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from mooring.errors import ObjectError
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.ui.leader_link import LeaderLink
from mooring.ui.leader_rules import PageRules, rule_notes
from mooring.virtual import cluster_changes
from mooring.virtual.cluster_copy import ClusterCopy, copy_cluster
from mooring.virtual.consequences import Consequences
from mooring.virtual.simulation import Progress

#: So many pods of each list are sent to the page, which is told how many there are.
MOST_PODS = 1000
#: So many nodes can be added.
MOST_ADDED = 1000


class WhatIfQuestion(msgspec.Struct, frozen=True):
    """A change whose consequences the user wants to see."""

    action: Literal["cordon", "drain", "add", "weights"]
    nodes: tuple[str, ...] = ()
    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_ADDED)] = 1
    profile: str = ""
    #: By Score plugin, only those that change.
    weights: dict[str, int] = msgspec.field(default_factory=dict)


class _AbandonedError(Exception):
    """Nobody waits for the answer any more."""


class PageQuestions:
    """The questions about the cluster that a scheduler follows. Owned by its event loop."""

    def __init__(
        self, running: RunningScheduler, applied: PageRules, leader: LeaderLink | None = None
    ) -> None:
        """Answer by the rules of `running`, and compare them with those of the leader."""
        self._running = running
        self._applied = applied
        self._leader = leader

    async def ask(self, question: WhatIfQuestion) -> dict[str, Any]:
        """Return the consequences of a change; raise MooringError if it makes no sense.

        The answer names the rules, and has notes if they may not be those of the leader. If this is
        cancelled, the computation ends before it tries the next pod.
        """
        rules = self._applied.rules
        notes = await rule_notes(self._leader, self._applied)
        copy = copy_cluster(self._running, rules.config, rules.registry, rules.gates)
        abandoned = threading.Event()

        def progress(*_: int) -> None:
            if abandoned.is_set():
                raise _AbandonedError

        try:
            found = _data(await asyncio.to_thread(_answer, copy, question, progress))
            return {**found, "rules": {"text": rules.text, "notes": notes}}
        finally:
            abandoned.set()


def _answer(copy: ClusterCopy, question: WhatIfQuestion, progress: Progress) -> Consequences:
    if question.action == "weights":
        if not question.weights:
            raise ObjectError("no weight differs from what it is now")
        return cluster_changes.change_weights(copy, question.weights, question.profile, progress)
    if not question.nodes:
        raise ObjectError("name a node")
    if question.action == "add":
        if len(question.nodes) > 1:
            raise ObjectError("name one node to copy")
        return cluster_changes.add_nodes(copy, question.nodes[0], question.count, progress)
    change = cluster_changes.cordon if question.action == "cordon" else cluster_changes.drain
    return change(copy, question.nodes, progress)


def _data(found: Consequences) -> dict[str, Any]:
    return {
        "moved": _list(found.moved),
        "unplaced": _list(found.unplaced),
        "placed": _list(found.placed),
        "unserved": _list(found.unserved),
    }


def _list(pods: Sequence[Any]) -> dict[str, Any]:
    return {"total": len(pods), "pods": pods[:MOST_PODS]}
