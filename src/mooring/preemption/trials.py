"""Trials: the results of the dry run on each node, cached for identical pods.

A deployment that does not fit creates many identical pods, and each of them would try the same
hundreds of nodes. The trial of a node for one pod stays valid for the next, until the node, its
pods or the pods nominated to it change; only the other nodes are tried again.
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
from mooring.preemption.importance import NO_COST, Cost, by_importance, cost

#: How many kinds of pods are cached, each with a trial per node. A kind is a signature and a
#: priority.
_KINDS_OF_PODS = 4


class DryRunResult:
    """The trial of one node: a refusal, or victims and their cost."""

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
        """Return a trial with the victims that an extender named."""
        price = cost(pods, victims.pdb_violations)
        return cls(-1, node_name, None, price, pods, [True] * len(pods))

    @property
    def violations(self) -> int:
        """The number of victims that violate a disruption budget."""
        return self.cost[0]

    def victims(self) -> list[PodInfo]:
        """Return the victims, most important first."""
        return by_importance(
            [pod for pod, gone in zip(self._pods, self._gone, strict=True) if gone]
        )


class RememberedTrials:
    """The latest trial of each node for pods of one kind."""

    def __init__(self) -> None:
        self._node_generation = -1
        self._nominations = -1
        #: By row: the snapshot generation at which it was tried; -1 if it must be tried.
        self._tried_at: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._trials: list[DryRunResult | None] = []

    def follow(self, nodes: Nodes, nominator: Nominator) -> None:
        """Drop the trials of nodes whose nominations have changed.

        If a node was added, deleted or changed, drop all trials, since rows may have moved.
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
        """Return the rows among `rows` that must be tried, always including `own`."""
        old = self._tried_at[rows] < nodes.changed_at[rows]
        if own >= 0:
            old |= rows == own
        return rows[old]

    def keep(self, trials: Iterable[DryRunResult], nodes: Nodes) -> None:
        """Cache trials; a node on which a plugin failed is tried again the next time."""
        generation = nodes.generation
        for trial in trials:
            row, refusal = trial.row, trial.refusal
            self._trials[row] = trial
            self._tried_at[row] = -1 if refusal is not None and refusal.is_error else generation

    def forget(self, row: int) -> None:
        """Drop the trial of a node, so that it is tried again the next time."""
        if row >= 0:
            self._tried_at[row] = -1

    def of(self, rows: Rows) -> list[DryRunResult]:
        """Return the cached trials of rows, all of which must have one."""
        found = self._trials
        return [trial for row in rows.tolist() if (trial := found[row]) is not None]


class TrialMemory:
    """A cache of trials by kind of pod. Owned by the plugin."""

    def __init__(self) -> None:
        #: In the order of use, the most recent last.
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
