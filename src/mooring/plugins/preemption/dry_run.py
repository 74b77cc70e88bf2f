"""The dry run: on which nodes would the pod fit, and who would have to leave?

On each node all less important pods are taken off. If the pod then fits, they come back one by one,
most important first, as long as it still fits; those that cannot are the victims.

kube-scheduler does this node by node. Here all nodes of a chunk are worked on at once: the first
victim comes back on every node, the Filter plugins are asked once for all of them, and so on; the
number of rounds is the largest number of victims on one node. That is only possible where no plugin
keeps counts across nodes (spreading, affinity): removing pods on one node would change the answer
for another. Then each node is worked on by itself, with its own clone of the cycle state.

# kube-scheduler: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode),
# framework/preemption/preemption.go (DryRunPreemption)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.framework.handle import Handle
from mooring.framework.nodes import Rows
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import PodBatch, WhatIf, one_row
from mooring.plugins.preemption.budgets import Budgets
from mooring.plugins.preemption.importance import by_importance

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


class Trial(msgspec.Struct, frozen=True):
    """What the dry run found on one node: victims most important first, or a refusal."""

    row: int
    victims: Sequence[PodInfo] = ()
    violations: int = 0
    refusal: Status | None = None


class DryRun:
    """Try the preemption of one pod on nodes, without changing anything."""

    def __init__(self, handle: Handle, state: CycleState, pod: Pod, budgets: Budgets) -> None:
        self._handle = handle
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._now = handle.clock.now()
        self._priority = handle.pod_info(pod).priority

    def run(self, rows: Rows, chunk: int) -> Iterator[Trial]:
        """Yield the trial of each row in turn; nodes are tried `chunk` at a time where possible."""
        if self._handle.precomputes(self._state):
            for row in rows.tolist():
                yield self._try_one(row)
            return
        for start in range(0, len(rows), chunk):
            yield from self._try_many(rows[start : start + chunk])

    def _potential_victims(self, row: int) -> list[PodInfo]:
        info = self._handle.snapshot.info(row)
        priority = self._priority
        return [pod for pod in info.pods.values() if pod.priority < priority]

    def _order_of_return(self, victims: list[PodInfo]) -> tuple[list[PodInfo], int]:
        """Return the order in which pods may come back, and how many violate a budget."""
        ordered = by_importance(victims, self._now) if len(victims) > 1 else victims
        if not self._budgets:
            return ordered, 0
        violating, others = self._budgets.split(ordered)
        return violating + others, len(violating)

    def _found(self, row: int, lost: list[PodInfo], order: int, violating: int, hurt: int) -> Trial:
        """Make the trial out of the pods that could not come back, `hurt` of which violate."""
        if not lost:
            name = self._handle.snapshot.names[row]
            return Trial(
                row, refusal=Status.error(f'expected at least one victim pod on node "{name}"')
            )
        if 0 < violating < order:
            lost = by_importance(lost, self._now)
        return Trial(row, lost, hurt)

    # One node by itself.

    def _try_one(self, row: int) -> Trial:
        victims = self._potential_victims(row)
        if not victims:
            return Trial(row, refusal=NO_VICTIMS)
        handle, pod = self._handle, self._pod
        state = self._state.clone()
        node = one_row(handle.snapshot, row)
        for victim in victims:
            failure = self._remove(state, node, victim)
            if failure is not None:
                return Trial(row, refusal=failure)
        refusal = handle.run_filters(state, pod, node)[0]
        if refusal is not None:
            return Trial(row, refusal=refusal)
        order, violating = self._order_of_return(victims)
        lost: list[PodInfo] = []
        hurt = 0
        for index, victim in enumerate(order):
            node.add(0, victim)
            failure = handle.run_add_pod(state, pod, victim, node.info(0))
            if failure is None and handle.run_filters(state, pod, node)[0] is not None:
                failure = self._remove(state, node, victim)
                lost.append(victim)
                hurt += index < violating
            if failure is not None:
                return Trial(row, refusal=failure)
        return self._found(row, lost, len(order), violating, hurt)

    def _remove(self, state: CycleState, node: WhatIf, victim: PodInfo) -> Status | None:
        node.remove(0, victim)
        status = self._handle.run_remove_pod(state, self._pod, victim, node.info(0))
        return None if status is None else Status.error(*status.reasons)

    # Many nodes at once.

    def _try_many(self, rows: Rows) -> list[Trial]:
        trials: dict[int, Trial] = {}
        tried: list[int] = []
        orders: list[list[PodInfo]] = []
        violating: list[int] = []
        for row in rows.tolist():
            victims = self._potential_victims(row)
            if not victims:
                trials[row] = Trial(row, refusal=NO_VICTIMS)
                continue
            order, count = self._order_of_return(victims)
            tried.append(row)
            orders.append(order)
            violating.append(count)
        if tried:
            for trial in self._try_together(np.array(tried, dtype=np.intp), orders, violating):
                trials[trial.row] = trial
        return [trials[row] for row in rows.tolist()]

    def _try_together(
        self, rows: Rows, orders: list[list[PodInfo]], violating: list[int]
    ) -> Iterator[Trial]:
        sizes = np.array([len(order) for order in orders])
        starts = np.cumsum(sizes) - sizes
        batch = PodBatch([pod for order in orders for pod in order])
        nodes = WhatIf(self._handle.snapshot, rows)
        everyone = np.arange(len(batch.pods), dtype=np.intp)
        nodes.remove_batch(np.repeat(np.arange(len(rows)), sizes), batch, everyone)
        refusals = self._handle.run_filters(self._state, self._pod, nodes)
        fits = np.array([refusal is None for refusal in refusals])
        #: Whether each pod of the batch could not come back.
        is_lost = np.zeros(len(batch.pods), dtype=np.bool_)
        for turn in range(int(sizes.max())):
            positions = np.flatnonzero(fits & (sizes > turn))
            if not len(positions):
                break
            members = starts[positions] + turn
            nodes.add_batch(positions, batch, members)
            answers = self._handle.run_filters(self._state, self._pod, nodes)
            failed = np.array([answers[position] is not None for position in positions.tolist()])
            if failed.any():
                nodes.remove_batch(positions[failed], batch, members[failed])
                is_lost[members[failed]] = True
        for position, row in enumerate(rows.tolist()):
            refusal = refusals[position]
            if refusal is not None:
                yield Trial(row, refusal=refusal)
                continue
            order, count = orders[position], violating[position]
            flags = is_lost[starts[position] : starts[position] + len(order)].tolist()
            lost = [pod for pod, gone in zip(order, flags, strict=True) if gone]
            yield self._found(row, lost, len(order), count, sum(flags[:count]))
