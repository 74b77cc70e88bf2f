"""PodGroupPodsCount: prefer the placement that takes more pods of a group."""

# kube-scheduler: plugins/podgrouppodscount/podgroup_pods_count.go

from __future__ import annotations

from mooring.api import AnyPodGroup
from mooring.framework.placements import GroupAssignments
from mooring.framework.plugin import MAX_NODE_SCORE, Plugin
from mooring.framework.state import CycleState
from mooring.typing import Ints


class PodGroupPodsCount(Plugin):
    """The plugin that scores a placement by the number of the group's pods in it."""

    name = "PodGroupPodsCount"

    def score_placement(
        self, state: CycleState, group: AnyPodGroup, assignments: GroupAssignments
    ) -> int:
        """Count the pods of the group that run already and those that were placed."""
        return len(self.handle.pod_groups.placed_in(group)) + len(assignments.pods)

    def normalize_placement_scores(
        self, state: CycleState, group: AnyPodGroup, scores: Ints
    ) -> Ints:
        """Scale the counts so that the largest is 100."""
        most = int(scores.max(initial=0))
        return scores * MAX_NODE_SCORE // most if most else scores
