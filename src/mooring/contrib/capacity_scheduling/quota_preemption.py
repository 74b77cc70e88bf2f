"""Who may be preempted for whom under elastic quotas.

# scheduler-plugins: pkg/capacityscheduling/capacity_scheduling.go (preemptor)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from mooring import CycleState, NodeInfo, PodInfo, Status
from mooring.api import Pod
from mooring.contrib.capacity_scheduling.elastic_quotas import Amounts, Quota, QuotaView
from mooring.framework.decision import NodeStatuses
from mooring.framework.preemption import PreemptionPolicy, is_chosen_victim

#: Keys of what PreFilter leaves for the preemption.
VIEW = "CapacityScheduling/quotas"
REQUESTS = "CapacityScheduling/requests"

NOT_READ = "not eligible due to failed to read from cycleState"
GLOBAL_MAX_EXCEEDED = Status.unschedulable("global quota max exceeded")


class Requests(msgspec.Struct, frozen=True):
    """What a pod needs, alone and with the pods that are nominated before it."""

    pod: Amounts
    #: With the nominated pods of its own quota of no lower priority.
    in_quota: Amounts = {}
    #: Also with the nominated pods of other quotas that are not over their min.
    total: Amounts = {}


class QuotaPolicy(PreemptionPolicy):
    """The rules of CapacityScheduling.

    A pod that stays within its namespace's min may remove pods of namespaces that are over theirs,
    whatever their priority. A pod that goes beyond it may remove pods of its own namespace and
    lower priority. Pods without a quota compete only with one another, by priority.
    """

    def ineligible(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> str:
        """Return why a pod may not preempt others now; "" if it may."""
        if pod.spec.preemption_policy != "Never" and state.get(REQUESTS) is None:
            return NOT_READ
        return super().ineligible(state, pod, statuses)

    def is_being_cleared(self, state: CycleState, pod: Pod, node: NodeInfo) -> bool:
        """Return whether pods are leaving the node whose room the pod may use."""
        view: QuotaView = state.read(VIEW)
        own = view.get(pod.metadata.namespace)
        borrows = own is not None and _borrows(view, state, own)
        for other in node.pods.values():
            if not other.pod.is_terminating:
                continue
            quota = view.get(other.pod.metadata.namespace)
            if quota is own:
                if other.priority < pod.priority:
                    return True
            elif own is not None and quota is not None and not borrows and view.over_min(quota):
                return True
        return False

    def potential_victims(
        self, state: CycleState, pod: Pod, node: NodeInfo
    ) -> Iterator[PodInfo | Status]:
        """Yield the pods that may be removed, the least important first.

        Namespaces stop losing pods once they are no longer over their min.
        """
        view: QuotaView = state.read(VIEW)
        own = view.get(pod.metadata.namespace)
        within_min = own is not None and not _borrows(view, state, own)
        for other in _least_important_first(node.pods.values()):
            quota = view.get(other.pod.metadata.namespace)
            if within_min:
                if quota is not None and quota is not own and view.over_min(quota):
                    yield other
            elif quota is own and other.priority < pod.priority:
                yield other

    def refusal(self, state: CycleState, pod: Pod) -> Status | None:
        """Refuse a node on which the pod would exceed the quotas even without the victims."""
        view: QuotaView = state.read(VIEW)
        requests: Requests = state.read(REQUESTS)
        return GLOBAL_MAX_EXCEEDED if _exceeds(view, pod, requests.pod, requests.pod) else None

    def must_go(self, state: CycleState, pod: Pod) -> bool:
        """Return whether the quotas are exceeded with the pod that was put back."""
        view: QuotaView = state.read(VIEW)
        requests: Requests = state.read(REQUESTS)
        return _exceeds(view, pod, requests.in_quota, requests.total)


def _borrows(view: QuotaView, state: CycleState, own: Quota) -> bool:
    """Return whether a namespace needs more for the pod than it is guaranteed."""
    requests: Requests = state.read(REQUESTS)
    return view.over_min_with(own, requests.in_quota)


def _exceeds(view: QuotaView, pod: Pod, in_quota: Amounts, total: Amounts) -> bool:
    quota: Quota | None = view.get(pod.metadata.namespace)
    if quota is None:
        return False
    return view.over_max_with(quota, in_quota) or view.total_over_min_with(total)


def _least_important_first(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """Return pods, least important first; of equals the last one, as the original's sort does.

    Pods that have not started are equal too, but keep their order: they all start "now". Of equals
    a pod that is being preempted comes first: its room is free soon, and no other has to go.
    """
    numbered = enumerate(pods)
    return [
        pod
        for _, pod in sorted(
            numbered,
            key=lambda one: (
                one[1].priority,
                -math.inf if one[1].start_time is None else -one[1].start_time,
                not is_chosen_victim(one[1].pod),
                one[0] if one[1].start_time is None else -one[0],
            ),
        )
    ]
