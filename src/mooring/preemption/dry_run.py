"""The dry run: on which nodes would the pod fit, and which pods would have to be removed?

On each node, all pods that the policy names (those of lower priority) are removed. If the pod then
fits, they are put back one by one, most important first; a pod that cannot be put back, because the
new pod would no longer fit, is a victim.

kube-scheduler does this node by node. Here all nodes of a chunk are processed at once: the first
potential victim is put back on every node, the Filter plugins run once for all nodes, and so on;
the number of rounds is the largest number of potential victims on one node. That is only possible
if priorities alone decide and no plugin keeps counts across nodes (spreading, affinity), because
removing pods from one node would change the answer for another. Otherwise each node is processed by
itself, with its own clone of the cycle state. Nodes with pods that are preempted as a group are
processed by `unit_trials`.

# kube-scheduler: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode),
# framework/preemption/preemption.go (DryRunPreemption)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mooring.api import Pod
from mooring.framework.handle import Handle
from mooring.framework.nodes import Rows
from mooring.framework.pod_groups import has_pod_groups
from mooring.framework.pod_info import PodInfo
from mooring.framework.preemption import PreemptionPolicy
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import PodBatch, WhatIf, one_row
from mooring.preemption.budgets import Budgets
from mooring.preemption.importance import (
    Cost,
    by_importance,
    cost,
    costs,
    started,
)
from mooring.preemption.trials import DryRunResult, RememberedTrials
from mooring.preemption.unit_trials import UnitTrials

#: Fewest nodes tried at a time: running the filters on one node costs as much as on this many.
_SMALLEST_CHUNK = 32


class _Chunk:
    """The potential victims of some nodes, in the order in which they are put back."""

    def __init__(
        self,
        rows: Rows,
        pods: list[PodInfo],
        positions: npt.NDArray[np.intp],
        priorities: npt.NDArray[np.int64],
        began: npt.NDArray[np.float64],
        violating: npt.NDArray[np.int64],
    ) -> None:
        self.rows = rows
        self.pods = pods
        #: Position of each pod's node among the rows; the pods of a node follow one another.
        self.positions = positions
        self.priorities = priorities
        self.began = began
        #: How many potential victims of each node violate a budget; they are put back first.
        self.violating = violating
        self.sizes = np.bincount(positions, minlength=len(rows))
        self.starts = np.cumsum(self.sizes) - self.sizes
        #: Whether each pod could not be put back: the victims.
        self.lost = np.zeros(len(pods), dtype=np.bool_)


class DryRun:
    """The trial of one pod's preemption on nodes, without changing anything."""

    def __init__(
        self,
        handle: Handle,
        state: CycleState,
        pod: Pod,
        budgets: Budgets,
        remembered: RememberedTrials | None,
        policy: PreemptionPolicy,
    ) -> None:
        """Prepare trials of `pod`; the results `remembered` of identical pods are reused."""
        self._handle = handle
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._remembered = remembered
        self._policy = policy
        self._priority = handle.pod_info(pod).priority
        self._snapshot = handle.snapshot
        self._names = handle.snapshot.names
        self._units: UnitTrials | None = None
        if policy.by_priority_alone and has_pod_groups(handle.features):
            self._units = UnitTrials(handle, state, pod, budgets, policy)

    def run(self, rows: Rows, wanted: int) -> Iterator[Sequence[DryRunResult]]:
        """Yield the trials of the rows in order, in chunks.

        A chunk has as many rows as successes are still `wanted`, but not fewer than
        `_SMALLEST_CHUNK`. The caller stops when it has enough.
        """
        if not self._policy.by_priority_alone or self._handle.precomputes(self._state):
            for row in rows.tolist():
                yield (self._try_units(row) or self._try_one(row),)
            return
        if self._remembered is not None:
            self._remembered.follow(self._snapshot, self._handle.nominator)
        begin = found = 0
        while begin < len(rows):
            end = begin + max(wanted - found, _SMALLEST_CHUNK)
            trials = self._recall(rows[begin:end])
            yield trials
            found += sum(trial.refusal is None for trial in trials)
            begin = end

    def _recall(self, rows: Rows) -> Sequence[DryRunResult]:
        """Return the trial of each row; only rows without a valid cached trial are tried."""
        by_units = {row: trial for row in rows.tolist() if (trial := self._try_units(row))}
        if by_units:
            alone = np.array([row for row in rows.tolist() if row not in by_units], dtype=np.intp)
            by_units.update((trial.row, trial) for trial in self._recall_alone(alone))
            return [by_units[row] for row in rows.tolist()]
        return self._recall_alone(rows)

    def _try_units(self, row: int) -> DryRunResult | None:
        """Return the trial of a node with pods that are preempted as a group; None for others."""
        units = self._units
        return None if units is None or row not in units.rows else units.try_node(row)

    def _recall_alone(self, rows: Rows) -> Sequence[DryRunResult]:
        remembered, nodes = self._remembered, self._snapshot
        if remembered is None:
            return list(self._try_many(rows))
        # Ignore the pod's own nomination; those of identical pods count.
        own = nodes.row(self._handle.nominator.node_of(self._pod.metadata.uid))
        missing = remembered.outdated(rows, nodes, own)
        if len(missing):
            remembered.keep(self._try_many(missing), nodes)
        trials = remembered.of(rows)
        remembered.forget(own)
        return trials

    def _potential_victims(self, row: int) -> list[PodInfo]:
        priority = self._priority
        pods = self._snapshot.info(row).pods
        return [pod for pod in pods.values() if pod.priority < priority]

    def _order_of_return(self, victims: list[PodInfo]) -> tuple[list[PodInfo], int]:
        """Return the order in which pods are put back, and how many violate a budget."""
        ordered = by_importance(victims)
        if not self._budgets:
            return ordered, 0
        violating, others = self._budgets.split(ordered)
        return violating + others, len(violating)

    def _refused(self, row: int, refusal: Status) -> DryRunResult:
        return DryRunResult(row, self._names[row], refusal)

    def _no_victim_needed(self, row: int) -> DryRunResult:
        name = self._names[row]
        return self._refused(
            row, Status.error(f'expected at least one victim pod on node "{name}"')
        )

    # One node by itself.

    def _try_one(self, row: int) -> DryRunResult:
        handle, pod, policy = self._handle, self._pod, self._policy
        if policy.by_priority_alone and not self._potential_victims(row):
            return self._refused(row, policy.no_victims(pod, self._names[row]))
        state = self._state.clone()
        node = one_row(self._snapshot, row)
        victims: list[PodInfo] = []
        for victim in policy.potential_victims(state, pod, self._snapshot.info(row)):
            if isinstance(victim, Status):
                return self._refused(row, victim)
            victims.append(victim)
            failure = self._remove(state, node, victim)
            if failure is not None:
                return self._refused(row, failure)
        if not victims:
            return self._refused(row, policy.no_victims(pod, self._names[row]))
        refusal = handle.run_filters(state, pod, node)[0] or policy.refusal(state, pod)
        if refusal is not None:
            return self._refused(row, refusal)
        order, violating = self._order_of_return(victims)
        lost: list[bool] = []
        violations = 0
        for turn, victim in enumerate(order):
            node.add(0, victim)
            failure = handle.run_add_pod(state, pod, victim, node.info(0))
            gone = failure is None and handle.run_filters(state, pod, node)[0] is not None
            if gone:
                failure = self._remove(state, node, victim)
                violations += turn < violating
            if failure is None and policy.must_go(state, pod):
                failure = self._remove(state, node, victim)
                gone = True
            if failure is not None:
                return self._refused(row, failure)
            lost.append(gone)
        leaving = [pod for pod, gone in zip(order, lost, strict=True) if gone]
        if not leaving:
            return self._no_victim_needed(row)
        price = cost(leaving, violations)
        return DryRunResult(row, self._names[row], None, price, order, lost)

    def _remove(self, state: CycleState, node: WhatIf, victim: PodInfo) -> Status | None:
        """Remove a pod from a what-if node; return the error, which a second removal is."""
        info = node.info(0)
        if victim.uid not in info.pods:
            name = victim.pod.metadata.name
            return Status.error(f"no corresponding pod {name} in pods of node {info.name}")
        node.remove(0, victim)
        status = self._handle.run_remove_pod(state, self._pod, victim, node.info(0))
        return None if status is None else Status.error(*status.reasons)

    # Many nodes at once.

    def _try_many(self, rows: Rows) -> Iterator[DryRunResult]:
        chunk = self._chunk(rows)
        refusals = self._take_turns(chunk) if chunk.pods else [None] * len(rows)
        prices = self._prices(chunk)
        lost = chunk.lost.tolist()
        begin, pods, names = 0, chunk.pods, self._names
        for row, size, refusal, price in zip(
            rows.tolist(), chunk.sizes.tolist(), refusals, prices, strict=True
        ):
            end = begin + size
            if price is not None:
                yield DryRunResult(row, names[row], None, price, pods[begin:end], lost[begin:end])
            elif not size:
                yield self._refused(row, self._policy.no_victims(self._pod, names[row]))
            else:
                yield self._refused(row, refusal) if refusal else self._no_victim_needed(row)
            begin = end

    def _chunk(self, rows: Rows) -> _Chunk:
        if self._budgets:
            return self._chunk_with_budgets(rows)
        info = self._snapshot.info
        everyone: list[PodInfo] = []
        sizes: list[int] = []
        for row in rows.tolist():
            pods = info(row).pods
            everyone += pods.values()
            sizes.append(len(pods))
        positions = np.repeat(np.arange(len(rows)), sizes)
        priorities, began = self._columns(everyone)
        order = np.lexsort((began, -priorities, positions))
        order = order[priorities[order] < self._priority]
        return _Chunk(
            rows,
            [everyone[index] for index in order.tolist()],
            positions[order],
            priorities[order],
            began[order],
            np.zeros(len(rows), dtype=np.int64),
        )

    def _chunk_with_budgets(self, rows: Rows) -> _Chunk:
        pods: list[PodInfo] = []
        sizes: list[int] = []
        violating: list[int] = []
        for row in rows.tolist():
            order, count = self._order_of_return(self._potential_victims(row))
            pods += order
            sizes.append(len(order))
            violating.append(count)
        positions = np.repeat(np.arange(len(rows)), sizes)
        return _Chunk(rows, pods, positions, *self._columns(pods), np.array(violating))

    @staticmethod
    def _columns(pods: list[PodInfo]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        return (
            np.array([pod.priority for pod in pods], dtype=np.int64),
            np.array([started(pod) for pod in pods], dtype=np.float64),
        )

    def _take_turns(self, chunk: _Chunk) -> Sequence[Status | None]:
        """Remove all pods of a chunk, then put them back in turn; set `chunk.lost`.

        Return for each node why it refuses the pod even without them, or None.
        """
        ask, state, pod = self._handle.run_filters, self._state, self._pod
        batch = PodBatch(chunk.pods)
        nodes = WhatIf(self._snapshot, chunk.rows)
        nodes.remove_batch(chunk.positions, batch, np.arange(len(chunk.pods), dtype=np.intp))
        refusals = ask(state, pod, nodes)
        fits = np.array([refusal is None for refusal in refusals])
        for turn in range(int(chunk.sizes.max())):
            positions = np.flatnonzero(fits & (chunk.sizes > turn))
            if not len(positions):
                break
            members = chunk.starts[positions] + turn
            nodes.add_batch(positions, batch, members)
            answers = ask(state, pod, nodes)
            failed = np.array([answers[position] is not None for position in positions.tolist()])
            if failed.any():
                nodes.remove_batch(positions[failed], batch, members[failed])
                chunk.lost[members[failed]] = True
        return refusals

    def _prices(self, chunk: _Chunk) -> list[Cost | None]:
        """Return the cost of clearing each node; None for a node without victims."""
        lost = chunk.lost
        cleared, index = np.unique(chunk.positions[lost], return_inverse=True)
        violations = self._violations(chunk)[cleared]
        found = costs(index, chunk.priorities[lost], chunk.began[lost], violations)
        prices: list[Cost | None] = [None] * len(chunk.rows)
        for position, price in zip(cleared.tolist(), found, strict=True):
            prices[position] = price
        return prices

    def _violations(self, chunk: _Chunk) -> npt.NDArray[np.int64]:
        """Count the victims of each node that violate a budget; those come first in the order."""
        if not chunk.violating.any():
            return chunk.violating
        turn = np.arange(len(chunk.pods)) - chunk.starts[chunk.positions]
        hurt = chunk.lost & (turn < chunk.violating[chunk.positions])
        return np.bincount(chunk.positions[hurt], minlength=len(chunk.rows))
