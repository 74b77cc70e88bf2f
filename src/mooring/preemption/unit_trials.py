"""UnitTrials: the dry run on nodes whose pods are not preempted one by one.

A group with disruptionMode `all` is one unit: if one of its pods is on the node, all of them are
removed, on whatever nodes they are, and put back together or not at all. Only the tried node is
filtered; plugins that count across nodes are told of the others. A pod of a group has the priority
of the group.

# kube-scheduler: plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode),
# framework/preemption/types.go (getCrossNodesVictims)
"""

from __future__ import annotations

from collections.abc import Callable

from mooring.api import Pod
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import PodInfo
from mooring.framework.preemption import PreemptionPolicy
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf, one_row
from mooring.preemption.budgets import Budgets
from mooring.preemption.importance import cost
from mooring.preemption.trials import DryRunResult
from mooring.preemption.units import Unit, units_below

#: Tells plugins that a pod came to a node or left it; returns an error or None.
_Tell = Callable[[CycleState, Pod, PodInfo, NodeInfo], Status | None]


class UnitTrials:
    """The trials of one pod's preemption on nodes with pods of groups."""

    def __init__(
        self,
        handle: Handle,
        state: CycleState,
        pod: Pod,
        budgets: Budgets,
        policy: PreemptionPolicy,
    ) -> None:
        self._handle = handle
        self._state = state
        self._pod = pod
        self._budgets = budgets
        self._policy = policy
        self._snapshot = handle.snapshot
        names = handle.pod_groups.nodes_of_units()
        #: The rows to try here.
        self.rows = frozenset(map(self._snapshot.row, names))

    def try_node(self, row: int) -> DryRunResult:
        """Try one node: a refusal, or the victims and their cost."""
        handle, pod = self._handle, self._pod
        name = self._snapshot.info(row).name
        every = self._snapshot.info(row).pods.values()
        units = units_below(every, handle.pod_groups, handle.pod_info(pod).priority)
        if not units:
            return DryRunResult(row, name, self._policy.no_victims(pod, name))
        state, node = self._state.clone(), one_row(self._snapshot, row)
        for unit in units:
            failure = self._remove(state, node, unit)
            if failure is not None:
                return DryRunResult(row, name, failure)
        refusal = handle.run_filters(state, pod, node)[0]
        if refusal is not None:
            return DryRunResult(row, name, refusal)
        lost: list[PodInfo] = []
        violations = 0
        for unit, violating in self._order_of_return(units):
            failure = self._add(state, node, unit)
            if failure is None and handle.run_filters(state, pod, node)[0] is not None:
                lost += unit.pods
                violations += violating
                failure = self._remove(state, node, unit)
            if failure is not None:
                return DryRunResult(row, name, failure)
        if not lost:
            text = f'expected at least one victim pod on node "{name}"'
            return DryRunResult(row, name, Status.error(text))
        gone = [True] * len(lost)
        return DryRunResult(row, name, None, cost(lost, violations), lost, gone)

    def _order_of_return(self, units: list[Unit]) -> list[tuple[Unit, int]]:
        """Return the units in the order in which they are put back, most important first.

        Those that violate a budget come before all others; each with its number of violations.
        """
        used: dict[int, int] = {}
        found = [
            (unit, self._budgets.violations(unit.pods, used))
            for unit in sorted(units, key=lambda unit: unit.importance)
        ]
        return sorted(found, key=lambda pair: not pair[1])

    def _remove(self, state: CycleState, node: WhatIf, unit: Unit) -> Status | None:
        return self._change(state, node, unit, node.remove, self._handle.run_remove_pod)

    def _add(self, state: CycleState, node: WhatIf, unit: Unit) -> Status | None:
        return self._change(state, node, unit, node.add, self._handle.run_add_pod)

    def _change(
        self,
        state: CycleState,
        node: WhatIf,
        unit: Unit,
        change: Callable[[int, PodInfo], None],
        tell: _Tell,
    ) -> Status | None:
        """Take a unit off the nodes of its pods, or put it back; return the error of a plugin."""
        here = node.info(0).name
        for info in unit.pods:
            if info.pod.spec.node_name == here:
                change(0, info)
                place: NodeInfo | None = node.info(0)
            else:
                place = self._snapshot.find(info.pod.spec.node_name)
            status = None if place is None else tell(state, self._pod, info, place)
            if status is not None:
                return Status.error(*status.reasons)
        return None
