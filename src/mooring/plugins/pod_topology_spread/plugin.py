"""PodTopologySpread: keep matching pods evenly spread over topology domains."""

# kube-scheduler: plugins/podtopologyspread/plugin.go

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec
import numpy as np

from mooring.api import Node, Pod, Selector
from mooring.errors import ObjectError
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from mooring.plugins.gates import gates_of
from mooring.plugins.pod_topology_spread import hints
from mooring.plugins.pod_topology_spread.default_selector import DefaultSelectors
from mooring.plugins.pod_topology_spread.filtering import FilterState
from mooring.plugins.pod_topology_spread.inclusion import Inclusion
from mooring.plugins.pod_topology_spread.scoring import ScoreState
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    SYSTEM_DEFAULT_CONSTRAINTS,
    ConstraintParser,
    Constraints,
    parse,
)
from mooring.typing import Ints, Mask

_FILTER_KEY = "PreFilterPodTopologySpread"
_SCORE_KEY = "PreScorePodTopologySpread"

NOT_PRE_FILTERED = Status.error(f'reading "{_FILTER_KEY}" from cycleState: not found')
NOT_PRE_SCORED = Status.error(f'error reading "{_SCORE_KEY}" from cycleState: not found')

_DEFAULTS_MEMO_LIMIT = 8192


class PodTopologySpread(Plugin):
    """The plugin that spreads pods by their topologySpreadConstraints or the profile's defaults."""

    name = "PodTopologySpread"
    skips_resizes = True
    reads_pod_labels = False
    Args: ClassVar[type[msgspec.Struct] | None] = PodTopologySpreadArgs

    def __init__(
        self, args: PodTopologySpreadArgs | None = None, handle: Handle | None = None
    ) -> None:
        super().__init__(args, handle)
        gates = gates_of(handle)
        self._parser = ConstraintParser(gates.enabled("MatchLabelKeysInPodTopologySpread"))
        self._inclusion = Inclusion(gates.enabled("TaintTolerationComparisonOperators"))
        self._system_defaulted = self.args.defaulting_type == SYSTEM_DEFAULTING
        defaults = (
            SYSTEM_DEFAULT_CONSTRAINTS if self._system_defaulted else self.args.default_constraints
        )
        self._defaults: dict[str, Constraints] = {
            action: tuple(
                parse(constraint, {})
                for constraint in defaults
                if constraint.when_unsatisfiable == action
            )
            for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
        }
        self._selectors = DefaultSelectors(handle) if defaults and handle is not None else None
        self._selected: dict[tuple[str, Selector], Constraints] = {}

    # Constraints.

    def _constraints(self, pod: Pod, when_unsatisfiable: str) -> Constraints:
        """Return the pod's constraints with one action, or the defaults if it has none at all."""
        own = pod.spec.topology_spread_constraints
        if own:
            return self._parser.parse(own, pod.metadata.labels, when_unsatisfiable)
        defaults = self._defaults[when_unsatisfiable]
        if not defaults or self._selectors is None:
            return ()
        selector = self._selectors.of(pod)
        if selector.empty:
            return ()
        key = (when_unsatisfiable, selector)
        constraints = self._selected.get(key)
        if constraints is None:
            if len(self._selected) >= _DEFAULTS_MEMO_LIMIT:
                self._selected.clear()
            constraints = self._selected[key] = tuple(
                msgspec.structs.replace(constraint, selector=selector) for constraint in defaults
            )
        return constraints

    # PreFilter and Filter.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Count the pods in every domain."""
        try:
            constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        except ObjectError as error:
            return Status.error(
                "get constraints from pod: obtaining pod's hard topology spread constraints: "
                f"{error}"
            )
        if not constraints:
            return Status.skip()
        state.write(_FILTER_KEY, FilterState.count(constraints, pod, nodes, self._inclusion))
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo) -> Status | None:
        """Add another pod to the counts."""
        return self._change(state, pod, other, node, 1)

    def remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Remove another pod from the counts."""
        return self._change(state, pod, other, node, -1)

    def _change(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo, amount: int
    ) -> Status | None:
        counted: FilterState | None = state.get(_FILTER_KEY)
        if counted is None:
            return NOT_PRE_FILTERED
        counted.change(pod, other.pod, node, self.handle.snapshot, amount)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node whose domain would exceed maxSkew with the pod."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        return NOT_PRE_FILTERED if counted is None else counted.refuse(node)

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse all nodes whose domain would exceed maxSkew with the pod."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        if counted is None:
            return ((NOT_PRE_FILTERED, np.ones(len(nodes), dtype=np.bool_)),)
        return counted.refuse_nodes(nodes)

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the numbers or the domain behind the refusal of a node."""
        counted: FilterState | None = state.get(_FILTER_KEY)
        return None if counted is None else counted.describe(node)

    # PreScore and Score.

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Count the pods in the domains of the feasible nodes."""
        try:
            constraints = self._constraints(pod, SCHEDULE_ANYWAY)
        except ObjectError as error:
            return Status.error(
                "calculating preScoreState: obtaining pod's soft topology spread constraints: "
                f"{error}"
            )
        if not constraints or not len(nodes.all):
            return Status.skip()
        # With the system defaults, a node without a zone is scored by host only.
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaulted
        state.write(
            _SCORE_KEY, ScoreState.count(constraints, pod, nodes, self._inclusion, require_all)
        )
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Weigh the matching pods in a node's domains; normalising turns more into worse."""
        counted: ScoreState | None = state.get(_SCORE_KEY)
        return NOT_PRE_SCORED if counted is None else counted.score(pod, node)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | Status:
        """Weigh the matching pods in all nodes' domains."""
        counted: ScoreState | None = state.get(_SCORE_KEY)
        return NOT_PRE_SCORED if counted is None else counted.score_nodes(nodes)

    def normalize_score(self, state: CycleState, pod: Pod, scores: Ints) -> Ints:
        """Turn weights into scores; fewer pods score higher."""
        counted: ScoreState = state.read(_SCORE_KEY)
        return counted.normalize(scores)

    # Queueing and signing.

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events that may make a refused pod schedulable."""
        return [
            ClusterEvent(
                EventResource.ASSIGNED_POD,
                ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE,
                self._after_pod_change,
            ),
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION,
                self._after_pod_change,
            ),
            ClusterEvent(
                EventResource.NODE,
                ActionType.ADD
                | ActionType.DELETE
                | ActionType.UPDATE_NODE_LABEL
                | ActionType.UPDATE_NODE_TAINT,
                self._after_node_change,
            ),
        ]

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        constraints = self._constraints(pod, DO_NOT_SCHEDULE)
        return hints.after_pod_change(constraints, pod, old, new)

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        return hints.after_node_change(self._constraints(pod, DO_NOT_SCHEDULE), old, new)

    def sign_pod(self, pod: Pod) -> tuple[()] | None:
        """Return None for a pod with constraints: its answers depend on pods of other nodes."""
        if pod.spec.topology_spread_constraints:
            return None
        spread = any(self._constraints(pod, action) for action in self._defaults)
        return None if spread else ()
