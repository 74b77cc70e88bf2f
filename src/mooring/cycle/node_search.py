"""The search for feasible nodes: which nodes are filtered, in which order, and when it stops.

# kube-scheduler: schedule_one.go (findNodesThatPassFilters, numFeasibleNodesToFind)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mooring.cycle.filtering import Verdicts, filter_nodes_but, filter_nodes_with_nominated
from mooring.cycle.nominated import NominationMemory
from mooring.cycle.profile import Profile
from mooring.cycle.timing import FILTER
from mooring.framework.decision import NodeStatuses
from mooring.framework.handle import Nominator
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status

#: A search never stops with fewer feasible nodes than this.
MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND = 5
#: A search that may stop early filters at least this many nodes at a time.
_BATCH = 16


def num_feasible_nodes_to_find(percentage: int, num_nodes: int) -> int:
    """Return how many feasible nodes are enough; 0 percent means the adaptive share."""
    if percentage == 0:
        percentage = max(50 - num_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
    return min(num_nodes, max(num_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND))


class NodeSearch:
    """The search for feasible nodes; each search starts where the previous one stopped."""

    def __init__(
        self,
        nominator: Nominator,
        node_order: Callable[[], Rows],
        percentage_of_nodes_to_score: int,
    ) -> None:
        self._nominator = nominator
        self._nominations = NominationMemory(nominator)
        self._node_order = node_order
        self._percentage = percentage_of_nodes_to_score
        #: Index in the node order at which the next search begins.
        self.next_start_node_index = 0

    def enough(self, profile: Profile, state: CycleState, num_nodes: int) -> int:
        """Return how many feasible nodes to find.

        All of them if no percentage is set and every Filter and Score plugin has a vector form.
        """
        percentage = profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self._percentage
        if percentage == 0:
            by_node = profile.node_form_filters - state.skip_filter_plugins
            if not by_node and not profile.scores_node_by_node:
                return num_nodes
        return num_feasible_nodes_to_find(percentage, num_nodes)

    def find(
        self,
        profile: Profile,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        statuses: NodeStatuses,
        enough: int,
    ) -> tuple[Nodes, Status | None]:
        """Return up to `enough` feasible nodes of `nodes`, and the fault if a plugin failed."""
        recorder = profile.recorder
        start = recorder.now()
        found, status = self._find(profile, state, pod, nodes, statuses, enough)
        recorder.point(FILTER, status, start)
        return found, status

    def _find(
        self,
        profile: Profile,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        statuses: NodeStatuses,
        enough: int,
    ) -> tuple[Nodes, Status | None]:
        if not profile.filter and enough >= len(nodes):
            statuses.accept(_rows(nodes))
            return nodes, None
        if enough >= len(nodes):
            verdicts = self._ask_all(profile, state, pod, nodes)
            return self._record(nodes, verdicts, statuses), verdicts.error
        return self._find_some(profile, state, pod, nodes, statuses, enough)

    def _ask_all(self, profile: Profile, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        if nodes.rows is not None:
            return filter_nodes_with_nominated(profile, self._nominator, state, pod, nodes)
        refused = self._nominations.refused(profile, state, pod, nodes)
        return filter_nodes_but(profile, state, pod, nodes, refused)

    def _find_some(
        self,
        profile: Profile,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        statuses: NodeStatuses,
        enough: int,
    ) -> tuple[Nodes, Status | None]:
        order = self._ordered(nodes)
        found: list[Rows] = []
        missing = enough
        begin = 0
        while missing and begin < len(order):
            batch = nodes.select(order[begin : begin + max(missing, _BATCH)])
            begin += len(batch)
            verdicts = filter_nodes_with_nominated(profile, self._nominator, state, pod, batch)
            passed = np.arange(len(batch)) if verdicts.passed is None else verdicts.passed
            if len(passed) >= missing:
                # Verdicts on nodes after the last one taken are dropped, as if not filtered.
                verdicts = verdicts.until(int(passed[missing - 1]) + 1)
            else:
                verdicts.passed = passed
            kept = self._record(batch, verdicts, statuses)
            assert kept.rows is not None
            found.append(kept.rows)
            if verdicts.error is not None:
                return nodes.select(np.concatenate(found)), verdicts.error
            missing -= len(kept)
        return nodes.select(np.concatenate(found)), None

    def _ordered(self, nodes: Nodes) -> Rows:
        """Return the rows of `nodes` in node-tree order, from where the last search stopped."""
        order = self._node_order()
        if nodes.rows is not None:
            wanted = np.zeros(len(order), dtype=np.bool_)
            wanted[nodes.rows] = True
            order = order[wanted[order]]
        return np.roll(order, -(self.next_start_node_index % len(order)))

    @staticmethod
    def _record(nodes: Nodes, verdicts: Verdicts, statuses: NodeStatuses) -> Nodes:
        for status, positions in verdicts.refusals:
            if len(positions):
                statuses.refuse(_at(nodes, positions), status)
        if verdicts.passed is None:
            statuses.accept(_rows(nodes))
            return nodes
        rows = _at(nodes, verdicts.passed)
        statuses.accept(rows)
        return nodes.select(rows)

    def advance(self, processed: int, num_nodes: int) -> None:
        """Move the start of the next search by the number of nodes the last one processed."""
        self.next_start_node_index = (self.next_start_node_index + processed) % num_nodes


def _at(nodes: Nodes, positions: Rows) -> Rows:
    return positions if nodes.rows is None else nodes.rows[positions]


def _rows(nodes: Nodes) -> Rows | slice:
    return slice(None) if nodes.rows is None else nodes.rows
