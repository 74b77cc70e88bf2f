"""Trials: what the dry run found on a node, and the memory of it for pods that are alike.

A deployment that does not fit sends many identical pods, and each tries the same hundreds of nodes.
What was found on a node for the first of them holds for the next, as long as neither the node, its
pods nor the pods nominated to it have changed: only the rest is tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from mooring.framework.extender import Victims
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_info import PodInfo
from mooring.framework.status import Status
from mooring.plugins.preemption.importance import NO_COST, Cost, by_importance, cost

#: Kinds of pods remembered; each keeps a trial per node.
_KINDS_OF_PODS = 4


class DryRunResult:
    """What the dry run found on one node: a refusal, or victims and their cost."""

    __slots__ = ("_gone", "_pods", "cost", "node_name", "refusal", "row")

    def __init__(
        self,
        row: int,
        node_name: str,
        refusal: Status | None,
        cost: Cost = NO_COST,
        pods: Sequence[PodInfo] = (),
        gone: Sequence[bool] = (),
    ) -> None:
        self.row = row
        self.node_name = node_name
        self.refusal = refusal
        self.cost = cost
        self._pods = pods
        self._gone = gone

    @classmethod
    def of(cls, node_name: str, pods: Sequence[PodInfo], victims: Victims) -> DryRunResult:
        """Make a trial out of an extender's word."""
        price = cost(pods, victims.pdb_violations)
        return cls(-1, node_name, None, price, pods, [True] * len(pods))

    @property
    def violations(self) -> int:
        """Return how many victims violate a disruption budget."""
        return self.cost[0]

    def victims(self) -> list[PodInfo]:
        """Return who must leave, most important first."""
        return by_importance(
            [pod for pod, gone in zip(self._pods, self._gone, strict=True) if gone]
        )


class RememberedTrials:
    """The latest trial of each node for pods of one kind."""

    def __init__(self) -> None:
        self._node_generation = -1
        self._nominations = -1
        #: When each row was tried; -1 where it was not.
        self._tried_at: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._trials: list[DryRunResult | None] = []

    def follow(self, nodes: Nodes, nominator: Nominator) -> None:
        """Forget the nodes whose nominations have changed.

        Everything is forgotten where a node has come, gone or changed: rows may have moved.
        """
        moved = nominator.changed_since(self._nominations)
        if self._node_generation != nodes.node_generation or moved is None:
            self._tried_at = np.full(len(nodes), -1, dtype=np.int64)
            self._trials = [None] * len(nodes)
        else:
            for name in moved:
                self.forget(nodes.row(name))
        self._node_generation = nodes.node_generation
        self._nominations = nominator.version

    def outdated(self, rows: Rows, nodes: Nodes, own: int) -> Rows:
        """Return the rows among `rows` that must be tried; `own` is one of them."""
        old = self._tried_at[rows] < nodes.changed_at[rows]
        if own >= 0:
            old |= rows == own
        return rows[old]

    def keep(self, trials: Iterable[DryRunResult], nodes: Nodes) -> None:
        """Remember what was found now; a node where a plugin failed is tried again."""
        generation = nodes.generation
        for trial in trials:
            row, refusal = trial.row, trial.refusal
            self._trials[row] = trial
            self._tried_at[row] = -1 if refusal is not None and refusal.is_error else generation

    def forget(self, row: int) -> None:
        """Have a node tried again the next time."""
        if row >= 0:
            self._tried_at[row] = -1

    def of(self, rows: Rows) -> list[DryRunResult]:
        """Return the trials of rows of which each has one."""
        found = self._trials
        return [trial for row in rows.tolist() if (trial := found[row]) is not None]


class TrialMemory:
    """Remember trials by what they depend on besides the node. Owned by the plugin."""

    def __init__(self) -> None:
        #: The latest used last.
        self._remembered: dict[Hashable, RememberedTrials] = {}

    def of(self, kind: Hashable) -> RememberedTrials:
        """Return the trials for pods of a kind."""
        found = self._remembered.pop(kind, None)
        if found is None:
            found = RememberedTrials()
            if len(self._remembered) >= _KINDS_OF_PODS:
                del self._remembered[next(iter(self._remembered))]
        self._remembered[kind] = found
        return found
