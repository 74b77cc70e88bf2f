"""DefaultPreemption: PostFilter that clears the cheapest node for a pod that fits nowhere.

# kube-scheduler: plugins/defaultpreemption/default_preemption.go
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api import AnyPodGroup, Pod, PodDisruptionBudget, scheduling_group_key
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.decision import NodeStatuses
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.placements import GroupTrial, NominatePods
from mooring.framework.plugin import Nominate, Plugin
from mooring.framework.preemption import PreemptionPolicy, is_preempted
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import DefaultPreemptionArgs
from mooring.preemption.evaluator import Evaluator
from mooring.preemption.executor import Executor
from mooring.preemption.group_evaluator import GroupEvaluator

FOUND = "preemption: found a potential placement for pod on node {}, preempting {} victims"
NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
STILL_PREEMPTING = Status.unresolvable("waiting for the preemption for this pod to be finished")


class PriorityPolicy(PreemptionPolicy):
    """The rules of DefaultPreemption: priorities alone decide, and victims go beside the loop."""

    prefix = "preemption: "
    random_start = True
    beside_cycle = True
    by_priority_alone = True

    def __init__(self, handle: Handle, args: DefaultPreemptionArgs) -> None:
        super().__init__(handle)
        self.min_candidate_nodes_percentage = args.min_candidate_nodes_percentage
        self.min_candidate_nodes_absolute = args.min_candidate_nodes_absolute

    def is_being_cleared(self, state: CycleState, pod: Pod, node: NodeInfo) -> bool:
        """Return whether the node has pods of lower priority that a preemption removes."""
        priority, groups = pod.priority, self.handle.pod_groups
        return any(
            is_preempted(other.pod) and groups.priority_of(other) < priority
            for other in node.pods.values()
        )

    def no_victims(self, pod: Pod, node_name: str) -> Status:
        """Return the refusal of a node that has no pod of lower priority."""
        return NO_VICTIMS


class DefaultPreemption(Plugin):
    """The plugin that nominates a node for a pod, and removes less important pods from it."""

    name = "DefaultPreemption"
    Args = DefaultPreemptionArgs
    args: DefaultPreemptionArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        policy = PriorityPolicy(self.handle, self.args)
        self._evaluator = Evaluator(self.name, self.handle, policy)
        self._says_placement = self.handle.features.release.says_placement
        self._group_executor = Executor(self.name, self.handle)
        self._group_evaluator = GroupEvaluator(self.handle, self._group_executor)

    def start(self) -> None:
        """Request the informer of disruption budgets before the first preemption needs it."""
        self.handle.lister(PodDisruptionBudget)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep a pod out of the queue while its own victims are being removed."""
        if self._evaluator.is_preempting(pod.metadata.uid):
            return STILL_PREEMPTING
        if pod.spec.scheduling_group is not None:
            # The group that was queued preempts: the top of the tree.
            group = self.handle.pod_groups.root_of(scheduling_group_key(pod))
            if group is not None and self._group_executor.is_preempting(group.metadata.uid):
                return STILL_PREEMPTING
        return None

    async def post_filter(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear, and nominate it.

        Suspends only to call extenders, or if the gate SchedulerAsyncPreemption is off.
        """
        result = await self._evaluator.preempt(state, pod, statuses)
        if isinstance(result, Nominate) and result.node_name and self._says_placement:
            status = Status.success(FOUND.format(result.node_name, len(result.victims)))
            return msgspec.structs.replace(result, status=status)
        return result

    async def pod_group_post_filter(
        self, state: CycleState, group: AnyPodGroup, trial: GroupTrial
    ) -> NominatePods | Status:
        """Find victims for a group that does not fit, and nominate nodes for its pods.

        Suspends as `post_filter` does.
        """
        return await self._group_evaluator.preempt(trial)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return only an event that never requeues; the plugins that refused the pod do that."""
        if not self.handle.features.enabled("SchedulerAsyncPreemption"):
            return []
        return [ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, _after_pod_deletion)]


def _after_pod_deletion(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Return Skip: the event is only registered so that PreEnqueue runs again for a gated pod."""
    return QueueingHint.SKIP
