"""What an extender says about the victims of a preemption.

kube-scheduler looks for victims with its own plugins alone. On each node that it proposes, the
pod must also pass the extender's Filter plugins once the victims are gone. If it does not, further
pods of lower priority may have to go: all of them are removed on trial, and put back one by one,
the most important first. A node on which even that does not help is no candidate.

# kube-scheduler: framework/preemption/preemption.go (callExtenders)
"""

from __future__ import annotations

from collections.abc import Sequence

from mooring.api import Pod, PodDisruptionBudget
from mooring.errors import PluginError
from mooring.extenders.extender_arguments import MetaPod, MetaVictimsDocument
from mooring.framework.handle import Handle
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.framework.what_if import WhatIf, one_row
from mooring.preemption.budgets import Budgets
from mooring.preemption.importance import by_importance


class CandidateCheck:
    """The check of the nodes that kube-scheduler proposes for one pod's preemption."""

    def __init__(self, handle: Handle, state: CycleState, pod: Pod) -> None:
        self._handle = handle
        self._state = state
        self._pod = pod
        self._budgets = Budgets(handle.lister(PodDisruptionBudget).list())

    def victims(
        self, node_name: str, proposed: Sequence[str], violations: int
    ) -> MetaVictimsDocument | None:
        """Return the victims on a node, at least those proposed; None if it is no candidate.

        Raise PluginError if a plugin failed.
        """
        nodes = self._handle.snapshot
        row = nodes.row(node_name)
        if row < 0:
            return None
        state, node = self._state.clone(), one_row(nodes, row)
        pods = nodes.info(row).pods
        # A proposed pod that is not there any more needs no removal.
        leaving = [pods[uid] for uid in proposed if uid in pods]
        for info in leaving:
            self._remove(state, node, info)
        refusal = self._refusal(state, node)
        more: list[PodInfo] = []
        if refusal is not None and refusal.code is Code.UNSCHEDULABLE:
            priority = self._handle.pod_info(self._pod).priority
            lower = [
                info
                for uid, info in pods.items()
                if uid not in proposed and info.priority < priority
            ]
            refusal, more, added = self._clear(state, node, leaving, lower)
            violations += added
        if refusal is not None:
            return None
        uids = [*proposed, *(info.uid for info in more)]
        return MetaVictimsDocument([MetaPod(uid) for uid in uids], violations)

    def _clear(
        self,
        state: CycleState,
        node: WhatIf,
        leaving: Sequence[PodInfo],
        pods: Sequence[PodInfo],
    ) -> tuple[Status | None, list[PodInfo], int]:
        """Remove as few of some pods as the new pod needs; `leaving` are gone already.

        Return why it is refused even without them, those that have to go, and how many of them
        violate a disruption budget.
        """
        for info in pods:
            self._remove(state, node, info)
        refusal = self._refusal(state, node)
        if refusal is not None:
            return refusal, [], 0
        # What is leaving already uses the disruptions that the budgets allow.
        violating, _ = self._budgets.split([*leaving, *by_importance(pods)])
        gone: list[PodInfo] = []
        for info in sorted(by_importance(pods), key=lambda info: info not in violating):
            node.add(0, info)
            _check(self._handle.run_add_pod(state, self._pod, info, node.info(0)))
            if self._refusal(state, node) is not None:
                self._remove(state, node, info)
                gone.append(info)
        return None, gone, sum(info in violating for info in gone)

    def _remove(self, state: CycleState, node: WhatIf, info: PodInfo) -> None:
        node.remove(0, info)
        _check(self._handle.run_remove_pod(state, self._pod, info, node.info(0)))

    def _refusal(self, state: CycleState, node: WhatIf) -> Status | None:
        status = self._handle.run_filters(state, self._pod, node)[0]
        _check(status if status is not None and status.is_error else None)
        return status


def _check(fault: Status | None) -> None:
    if fault is not None:
        raise PluginError(fault.message, plugin=fault.plugin)
