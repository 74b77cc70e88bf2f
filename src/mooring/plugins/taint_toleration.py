"""TaintToleration: keep pods off nodes whose taints they do not tolerate."""

# kube-scheduler: plugins/tainttoleration/taint_toleration.go

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from mooring.api import Node, Pod, Taint, Toleration, find_untolerated
from mooring.api.taints import PREFER_NO_SCHEDULE, SCHEDULING_EFFECTS, tolerated
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.columns import Ints, Mask
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState, StateNotFoundError
from mooring.framework.status import Status
from mooring.plugins.gates import gates_of
from mooring.plugins.normalize import normalize_by_max
from mooring.plugins.signing import sign_tolerations

UNTOLERATED = Status.unresolvable("node(s) had untolerated taint(s)")
NOT_PRE_SCORED = 'failed to read "PreScoreTaintToleration" from cycleState: not found'

_STATE = "PreScoreTaintToleration"
_FILTER = "TaintToleration/filter"
_SCORE = "TaintToleration/score"


class TaintToleration(Plugin):
    """Refuse nodes with untolerated taints; prefer those with few PreferNoSchedule ones."""

    name = "TaintToleration"
    reads_pods = False

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._comparison = gates_of(handle).enabled("TaintTolerationComparisonOperators")

    def _refuses(self, taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
        found = find_untolerated(taints, tolerations, SCHEDULING_EFFECTS, self._comparison)
        return found is not None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node with a taint that the pod does not tolerate."""
        return UNTOLERATED if self._refuses(node.taints, pod.spec.tolerations) else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes by their sets of taints, each asked once."""
        tolerations = pod.spec.tolerations
        column = nodes.taints
        if len(column.values) > 1:
            yield (
                UNTOLERATED,
                column.map(
                    (_FILTER, self._comparison, tolerations),
                    lambda taints: taints is not None and self._refuses(taints, tolerations),
                ),
            )

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Keep the tolerations that answer PreferNoSchedule taints."""
        state.write(
            _STATE,
            tuple(
                toleration
                for toleration in pod.spec.tolerations
                if toleration.effect in ("", PREFER_NO_SCHEDULE)
            ),
        )
        return None

    def _count(self, taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int:
        return sum(
            taint.effect == PREFER_NO_SCHEDULE
            and not tolerated(tolerations, taint, self._comparison)
            for taint in taints
        )

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Count the untolerated PreferNoSchedule taints."""
        try:
            tolerations = state.read(_STATE)
        except StateNotFoundError:
            return Status.error(NOT_PRE_SCORED)
        return self._count(node.taints, tolerations)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | int | Status:
        """Count the untolerated PreferNoSchedule taints, once per set of taints."""
        try:
            tolerations = state.read(_STATE)
        except StateNotFoundError:
            return Status.error(NOT_PRE_SCORED)
        if not nodes.taints.any:
            return 0
        counts = nodes.taints.map(
            (_SCORE, self._comparison, tolerations),
            lambda taints: 0 if taints is None else self._count(taints, tolerations),
            np.int64,
        )
        return cast(Ints, counts)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Scale so that no untolerated taint is 100 and the most are 0."""
        return normalize_by_max(scores, reverse=True)

    def events_to_register(self) -> list[ClusterEvent]:
        """Ask for nodes that lose taints, and for new tolerations."""
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_TAINT,
                self._after_node_change,
            ),
            ClusterEvent(
                EventResource.POD, ActionType.UPDATE_POD_TOLERATION, _after_toleration_change
            ),
        ]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        tolerations = pod.spec.tolerations
        refused_before = old is None or self._refuses(old.spec.taints, tolerations)
        if refused_before and not self._refuses(new.spec.taints, tolerations):
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by tolerations."""
        return sign_tolerations(pod)


def _after_toleration_change(pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
    return QueueingHint.QUEUE if pod.metadata.uid == new.metadata.uid else QueueingHint.SKIP
