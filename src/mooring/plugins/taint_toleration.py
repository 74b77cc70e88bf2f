"""TaintToleration: keep pods off nodes whose taints they do not tolerate."""

# kube-scheduler: plugins/tainttoleration/taint_toleration.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from mooring.api import Node, Pod, Taint, Toleration
from mooring.api.taints import PREFER_NO_SCHEDULE, Tolerations
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState, StateNotFoundError
from mooring.framework.status import Status
from mooring.plugins.gates import gates_of
from mooring.plugins.normalize import normalize_by_max
from mooring.plugins.signing import sign_tolerations
from mooring.typing import Ints, Mask

UNTOLERATED = Status.unresolvable("node(s) had untolerated taint(s)")
NOT_PRE_SCORED = 'failed to read "PreScoreTaintToleration" from cycleState: not found'

_STATE = "PreScoreTaintToleration"
_FILTER = "TaintToleration/filter"
_SCORE = "TaintToleration/score"


class TaintToleration(Plugin):
    """The plugin that refuses nodes with untolerated taints.

    It prefers nodes with few PreferNoSchedule taints.
    """

    name = "TaintToleration"
    skips_resizes = True
    reads_pods = False

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._comparison = gates_of(handle).enabled("TaintTolerationComparisonOperators")

    def _of(self, tolerations: Iterable[Toleration]) -> Tolerations:
        return Tolerations(tolerations, self._comparison)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> None:
        """Object to nothing: kube-scheduler's plugin takes part in PreFilter."""

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node with a taint that the pod does not tolerate."""
        refused = self._of(pod.spec.tolerations).find_untolerated(node.taints) is not None
        return UNTOLERATED if refused else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterator[tuple[Status, Mask]]:
        """Refuse nodes with untolerated taints, evaluating each distinct set of taints once."""
        tolerations = pod.spec.tolerations
        column = nodes.taints
        if len(column.values) > 1:
            find = self._of(tolerations).find_untolerated
            yield (
                UNTOLERATED,
                column.map(
                    (_FILTER, self._comparison, tolerations),
                    lambda taints: taints is not None and find(taints) is not None,
                ),
            )

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the first taint that the pod does not tolerate."""
        taint = self._of(pod.spec.tolerations).find_untolerated(node.taints)
        if taint is None:
            return None
        value = f"={taint.value}" if taint.value else ""
        return f"taint {taint.key}{value}:{taint.effect} is not tolerated"

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Collect the tolerations that apply to PreferNoSchedule taints."""
        state.write(
            _STATE,
            tuple(
                toleration
                for toleration in pod.spec.tolerations
                if toleration.effect in ("", PREFER_NO_SCHEDULE)
            ),
        )
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Count the untolerated PreferNoSchedule taints."""
        try:
            tolerations = state.read(_STATE)
        except StateNotFoundError:
            return Status.error(NOT_PRE_SCORED)
        return _count(node.taints, self._of(tolerations))

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | int | Status:
        """Count the untolerated PreferNoSchedule taints, once per set of taints."""
        try:
            tolerations = state.read(_STATE)
        except StateNotFoundError:
            return Status.error(NOT_PRE_SCORED)
        if not nodes.taints.any:
            return 0
        compiled = self._of(tolerations)
        counts = nodes.taints.map(
            (_SCORE, self._comparison, tolerations),
            lambda taints: 0 if taints is None else _count(taints, compiled),
            np.int64,
        )
        return cast(Ints, counts)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Scale so that a node without untolerated taints gets 100, and one with the most 0."""
        return normalize_by_max(scores, reverse=True)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of nodes whose taints change, and of new tolerations."""
        return [
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD | ActionType.UPDATE_NODE_TAINT,
                self._after_node_change,
            ),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
        ]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        find = self._of(pod.spec.tolerations).find_untolerated
        refused_before = old is None or find(old.spec.taints) is not None
        if refused_before and find(new.spec.taints) is None:
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def sign_pod(self, pod: Pod) -> Hashable:
        """Sign by tolerations."""
        return sign_tolerations(pod)


def _count(taints: Sequence[Taint], tolerations: Tolerations) -> int:
    return sum(
        taint.effect == PREFER_NO_SCHEDULE and not tolerations.tolerate(taint) for taint in taints
    )
