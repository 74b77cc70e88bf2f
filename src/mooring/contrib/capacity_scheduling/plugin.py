"""CapacityScheduling: the plugin.

# scheduler-plugins: pkg/capacityscheduling/capacity_scheduling.go
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from mooring import (
    ActionType,
    ClusterEvent,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    Nodes,
    PodInfo,
    QueueingHint,
    Status,
)
from mooring.api import ElasticQuota, Pod
from mooring.api.quota_requests import SCHEDULER, PodRequestsMode, counted_amounts
from mooring.contrib.capacity_scheduling.elastic_quotas import (
    Amounts,
    Quota,
    Quotas,
    QuotaView,
    add_amounts,
    pod_request,
)
from mooring.contrib.capacity_scheduling.quota_preemption import (
    REQUESTS,
    VIEW,
    QuotaPolicy,
    Requests,
)
from mooring.contrib.preempting import PreemptingPlugin
from mooring.errors import ObjectError
from mooring.framework.preemption import PreemptionPolicy

log = logging.getLogger(__name__)

#: The resource of the events about quotas.
ELASTIC_QUOTAS = "elasticquotas.v1alpha1.scheduling.x-k8s.io"

OVER_MAX = "Pod {pod} is rejected in PreFilter because ElasticQuota {namespace} is more than Max"
OVER_TOTAL_MIN = (
    "Pod {pod} is rejected in PreFilter because total ElasticQuota used is more than min"
)
UNREADABLE = "ElasticQuota %s is ignored: %s"
NOT_COUNTED = (
    "CapacityScheduling: sidecars, pod-level resources and the status of a resize do not count for "
    "quotas, as in scheduler-plugins, so a namespace can use more than its max; set podRequests: "
    "Scheduler in its args to count them, or podRequests: Containers to keep this"
)
MIN_OVER_MAX = "ElasticQuota %s: min exceeds max for %s; both are applied as they are"

#: By the original's sum, pods in other phases do not count; "" is one that has not been set.
_COUNTED_PHASES = ("", "Pending", "Running")
#: For the scheduler, pods in these phases have left their node.
_FINISHED_PHASES = ("Succeeded", "Failed")


class CapacityScheduling(PreemptingPlugin):
    """A plugin with quotas of namespaces that borrow from and lend to each other.

    Choose it if teams share a cluster: an ElasticQuota in a namespace guarantees it `spec.min` and
    allows it up to `spec.max`, as long as all namespaces together stay within the sum of their min.
    A namespace that needs what it is guaranteed takes it back from those that borrowed it, by
    preemption. It replaces DefaultPreemption: disable that one. Set `podRequests: Scheduler`, or a
    namespace can use more than its quota with sidecars, pod-level resources and resizes.
    """

    name = "CapacityScheduling"

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """What a pod counts for."""

        #: Scheduler: what the scheduler counts on nodes. Containers, the default: the sum of
        #: scheduler-plugins, without sidecars, pod-level resources and resizes in progress.
        pod_requests: PodRequestsMode = None

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._is_scheduler = self.args.pod_requests == SCHEDULER
        self._request_of = self._scheduler_request if self._is_scheduler else pod_request
        self._quotas = Quotas(self._request_of)

    def _scheduler_request(self, pod: Pod) -> Amounts:
        return counted_amounts(self.handle.pod_info(pod).requests)

    def start(self) -> None:
        """Follow quotas and pods, and request the informers that a preemption needs."""
        super().start()
        if self.args.pod_requests is None:
            log.warning(NOT_COUNTED)
        self.handle.watch(
            ElasticQuota,
            added=self._quota_added,
            updated=self._quota_updated,
            deleted=lambda quota: self._quotas.delete(quota.metadata.namespace),
        )
        self.handle.watch(
            Pod, added=self._pod_added, updated=self._pod_updated, deleted=self._pod_deleted
        )

    def _make_policy(self) -> PreemptionPolicy:
        return QuotaPolicy(self.handle)

    def usage(self) -> dict[str, Amounts]:
        """Return what each namespace with a quota uses: cpu in thousandths, else whole units."""
        return {quota.namespace: dict(quota.used) for quota in self._quotas}

    # Quotas and pods that come and go.

    def _quota_added(self, quota: ElasticQuota) -> None:
        namespace = quota.metadata.namespace
        if namespace in self._quotas:
            return
        self._put(quota)
        if not self.handle.synced:
            # The quota may be older than the pods, whichever is reported first. Later, a quota
            # that is created after pods of its namespace does not count them.
            for pod in self.handle.lister(Pod).list(namespace):
                if pod.spec.node_name:
                    self._quotas.add_pod(pod)

    def _quota_updated(self, old: ElasticQuota, new: ElasticQuota) -> None:
        self._put(new)

    def _put(self, quota: ElasticQuota) -> None:
        try:
            found = Quota(quota)
        except ObjectError as error:
            log.error(UNREADABLE, quota.key, error)
            return
        wrong = [
            name
            for name, amount in found.min.limits.items()
            if quota.spec.max is not None and amount > found.max.limits.get(name, amount)
        ]
        if wrong:
            log.warning(MIN_OVER_MAX, quota.key, ", ".join(sorted(wrong)))
        self._quotas.put(found)

    def _pod_added(self, pod: Pod) -> None:
        if not pod.spec.node_name:
            return
        namespace = pod.metadata.namespace
        if namespace not in self._quotas:
            for quota in self.handle.lister(ElasticQuota).list(namespace):
                self._put(quota)
                break
        self._quotas.add_pod(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if not old.spec.node_name:
            self._pod_added(new)
        elif not self._counts(new.status.phase):
            self._quotas.remove_pod(new)
        else:
            self._quotas.change_pod(new)

    def _counts(self, phase: str) -> bool:
        return phase not in _FINISHED_PHASES if self._is_scheduler else phase in _COUNTED_PHASES

    def _pod_deleted(self, pod: Pod) -> None:
        # A pod that has only been assumed is given back by Unreserve.
        if pod.spec.node_name:
            self._quotas.remove_pod(pod)

    # The scheduling cycle.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Refuse a pod with which its quota, or all quotas together, would be exceeded."""
        view = QuotaView(self._quotas)
        state.write(VIEW, view)
        request = self._request_of(pod)
        quota = self._quotas.get(pod.metadata.namespace)
        if quota is None:
            state.write(REQUESTS, Requests(request))
            return None
        requests = self._with_nominated(pod, request, view)
        state.write(REQUESTS, requests)
        if view.over_max_with(quota, requests.in_quota):
            text = OVER_MAX.format(pod=pod.key, namespace=quota.namespace)
            return Status.unschedulable(text)
        if view.total_over_min_with(requests.total):
            return Status.unschedulable(OVER_TOTAL_MIN.format(pod=pod.key))
        return None

    def _with_nominated(self, pod: Pod, request: Amounts, view: QuotaView) -> Requests:
        """Return what a pod needs together with the pods that are nominated before it."""
        in_quota, total = dict(request), dict(request)
        nominator, uid = self.handle.nominator, pod.metadata.uid
        for name in nominator.nodes():
            if self.handle.snapshot.row(name) < 0:
                continue
            for other in nominator.nominated_on(name):
                namespace = other.pod.metadata.namespace
                quota = self._quotas.get(namespace)
                if quota is None or other.uid == uid:
                    continue
                if namespace == pod.metadata.namespace:
                    if other.priority >= pod.priority:
                        add_amounts(in_quota, self._request_of(other.pod))
                        add_amounts(total, self._request_of(other.pod))
                elif not view.over_min(quota):
                    add_amounts(total, self._request_of(other.pod))
        return Requests(request, in_quota, total)

    def add_pod(self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo) -> Status | None:
        """Count a pod that is added on trial."""
        view: QuotaView = state.read(VIEW)
        view.add_pod(other.pod)
        return None

    def remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Stop counting a pod that is removed on trial."""
        view: QuotaView = state.read(VIEW)
        view.remove_pod(other.pod)
        return None

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Count a pod that got a node."""
        self._quotas.add_pod(pod)
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Stop counting a pod that lost its node."""
        self._quotas.remove_pod(pod)

    # Which events help.

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the events after which a refused pod may be accepted."""
        return [
            ClusterEvent(EventResource.POD, ActionType.DELETE, self._after_pod),
            ClusterEvent(
                EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN, self._after_pod
            ),
            ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN),
            ClusterEvent(ELASTIC_QUOTAS, ActionType.ALL),
        ]

    def _after_pod(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        """Try a pod again if a pod of a quota is gone, or requests less."""
        counted = old.metadata.namespace in self._quotas
        return QueueingHint.QUEUE if counted else QueueingHint.SKIP
