"""CrossNodePreemption: preemption whose victims may be on several nodes.

The original is a sample that is not registered: it tries every set of pods, two to the power of
their number. Here the search is bounded.

# scheduler-plugins: pkg/crossnodepreemption
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from mooring import Code, CycleState, Nodes, PodInfo
from mooring.api import Pod
from mooring.contrib.preempting import PreemptingPlugin
from mooring.framework.decision import Candidate, NodeStatuses
from mooring.framework.preemption import PreemptionPolicy
from mooring.framework.what_if import WhatIf
from mooring.observe.logs import vlog

log = logging.getLogger(__name__)

#: The most sets of pods that are tried for one pod. Each costs a run of the Filter plugins.
MAX_TRIALS = 500
BOUND_REACHED = "The search for victims on several nodes ended before every set of pods was tried"


class CrossNodePreemption(PreemptingPlugin):
    """A plugin that removes pods of several nodes to make room on one.

    Choose it if pods are refused because of pods on other nodes (spreading, anti-affinity over a
    zone), which preemption on one node cannot mend. It is expensive: the sets of pods of lower
    priority are tried, smallest first, up to 500 of them. It ignores disruption budgets. It is in
    no default profile; enable it after another preempting plugin. It has no arguments.
    """

    name = "CrossNodePreemption"

    def _make_policy(self) -> PreemptionPolicy:
        return CrossNodePolicy(self.handle)


class CrossNodePolicy(PreemptionPolicy):
    """The rules of CrossNodePreemption: sets of pods on any nodes, smallest first."""

    def search(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Sequence[Candidate]:
        """Return the nodes on which the pod fits without some pods of lower priority."""
        nodes = self.handle.snapshot
        pods = self._removable(pod, nodes, statuses)
        found: list[Candidate] = []
        minimal: list[frozenset[int]] = []
        for number, chosen in enumerate(_sets(len(pods))):
            if number >= MAX_TRIALS:
                vlog(log, 2, BOUND_REACHED, pod=pod, tried=MAX_TRIALS, pods=len(pods))
                break
            # A set that contains one that is enough removes more than needed.
            if any(enough.issubset(chosen) for enough in minimal):
                continue
            victims = [pods[index] for index in chosen]
            names = self._try(state, pod, nodes, victims)
            if names:
                minimal.append(frozenset(chosen))
                leaving = tuple(info.pod for _, info in victims)
                found += [Candidate(name, leaving) for name in names]
        return found

    def _removable(
        self, pod: Pod, nodes: Nodes, statuses: NodeStatuses
    ) -> list[tuple[int, PodInfo]]:
        """Return the pods of lower priority and the rows of their nodes, least important first."""
        helpless = statuses.rows_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        rows = np.setdiff1d(np.arange(len(nodes)), helpless)
        found = [
            (row, other)
            for row in rows.tolist()
            for other in nodes.info(row).pods.values()
            if other.priority < pod.priority
        ]
        return sorted(found, key=lambda one: one[1].priority)

    def _try(
        self, state: CycleState, pod: Pod, nodes: Nodes, victims: Sequence[tuple[int, PodInfo]]
    ) -> list[str]:
        """Return the nodes of the victims on which the pod fits without them."""
        state = state.clone()
        rows = sorted({row for row, _ in victims})
        trial = WhatIf(nodes, np.array(rows, dtype=np.intp))
        for row, victim in victims:
            position = rows.index(row)
            trial.remove(position, victim)
            status = self.handle.run_remove_pod(state, pod, victim, trial.info(position))
            if status is not None:
                return []
        answers = self.handle.run_filters(state, pod, trial)
        return [nodes.names[row] for row, answer in zip(rows, answers, strict=True) if not answer]


def _sets(size: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets of positions below `size`, those of one member first."""
    for members in range(1, size + 1):
        yield from combinations(range(size), members)
