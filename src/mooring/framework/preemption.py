"""Preemption for plugins: the rules in which preempting plugins differ, and what carries them out.

A plugin that makes room by removing pods hands a policy to `handle.preemptor` and calls the result
in `post_filter`. The search for nodes, the dry runs, disruption budgets, extenders, the choice of
the cheapest node and the removal of victims are the same for all of them.

# kube-scheduler: framework/preemption/preemption.go (Interface, Evaluator)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from mooring.api import Pod
from mooring.api.field_errors import FieldError, aggregate, child, invalid
from mooring.framework.decision import Candidate, NodeStatuses
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.plugin import Nominate
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status, code_of

NEVER = "not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_VICTIMS = "No victims found on node {node} for preemptor pod {pod}"


def candidate_node_errors(path: str, percentage: int, absolute: int) -> list[FieldError]:
    """Return what is wrong with the two arguments that bound the search, at `path`."""
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    errors = []
    if not 0 <= percentage <= 100:
        errors.append(invalid(percentage_path, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        text = "cannot be zero at the same time as "
        errors.append(invalid(percentage_path, 0, f"{text}minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, 0, f"{text}minCandidateNodesPercentage"))
    return errors


def is_preempted(pod: Pod) -> bool:
    """Return whether a pod is terminating because a scheduler has preempted it."""
    return pod.metadata.deletion_timestamp is not None and is_chosen_victim(pod)


def is_chosen_victim(pod: Pod) -> bool:
    """Return whether a scheduler has chosen a pod as a victim; it may not be terminating yet."""
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


class PreemptionPolicy:
    """The rules of a plugin that preempts. This one: any pod of lower priority may be removed.

    A subclass overrides what differs.
    """

    #: Put before every message.
    prefix: str = ""
    #: How many nodes are enough as candidates: this percentage of those that are left, but not
    #: fewer than the absolute number. By default all.
    min_candidate_nodes_percentage: int = 100
    min_candidate_nodes_absolute: int = 0
    #: Whether the search begins at a random node.
    random_start: bool = False
    #: Whether victims are removed beside the scheduling loop, if the gate SchedulerAsyncPreemption
    #: is on. The plugin must then hold the pod back in `pre_enqueue` while `is_preempting`.
    beside_cycle: bool = False
    #: Whether only priorities decide who may be removed. All nodes can then be tried at once, and
    #: identical pods reuse the results. A subclass whose hooks read anything else says False.
    by_priority_alone: bool = False

    def __init__(self, handle: Handle) -> None:
        self.handle = handle

    def ineligible(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> str:
        """Return why a pod may not preempt others now; "" if it may."""
        if pod.spec.preemption_policy == "Never":
            return NEVER
        node = self.handle.snapshot.find(pod.status.nominated_node_name)
        if (
            node is None
            or code_of(statuses.get(node.name)) is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            or not self.is_being_cleared(state, pod, node)
        ):
            return ""
        return VICTIM_TERMINATING

    def is_being_cleared(self, state: CycleState, pod: Pod, node: NodeInfo) -> bool:
        """Return whether the node that a pod is nominated to has victims that are leaving."""
        priority = pod.priority
        return any(
            other.priority < priority and other.pod.is_terminating for other in node.pods.values()
        )

    def search(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Sequence[Candidate] | None:
        """Return the nodes that could be cleared, found in the policy's own way.

        None leaves the search to the machinery, which tries node by node.
        """
        return None

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        """Yield the pods of a node that may be removed for `pod`; an error Status ends the trial.

        If not priorities alone decide, each pod is removed before the next one is asked for, and
        `state` is a copy in which the plugins have taken note of that.
        """
        priority = pod.priority
        for other in node.pods.values():
            if other.priority < priority:
                yield other

    def no_victims(self, pod: Pod, node_name: str) -> Status:
        """Return the refusal of a node that has no pod that may be removed."""
        return Status.unresolvable(NO_VICTIMS.format(node=node_name, pod=pod.metadata.name))

    def refusal(self, state: CycleState, pod: Pod) -> Status | None:
        """Return why a pod does not fit even with all potential victims removed; None if it does.

        The Filter plugins have accepted the node already.
        """
        return None

    def must_go(self, state: CycleState, pod: Pod) -> bool:
        """Return whether the pod that was just put back must be removed after all.

        The Filter plugins have been asked already.
        """
        return False

    def failed(self, faults: Sequence[str]) -> Status:
        """Return the error if no node can be cleared and trials have failed with these messages."""
        return Status.error(self.prefix + aggregate(faults))


class Preemptor(Protocol):
    """What carries out preemptions under one policy; a plugin gets it from `handle.preemptor`."""

    async def preempt(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear for a pod, remove the victims and nominate it: `post_filter`."""
        ...

    def is_preempting(self, uid: str) -> bool:
        """Return whether a pod must still wait for its own preemption."""
        ...
