"""Queueing hints: which changes may make a pod schedulable that waits for devices."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (EventsToRegister)

from __future__ import annotations

from mooring.api import Pod, ResourceClaim
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.releases import Release
from mooring.plugins.dynamic_resources.resource_claims import Claims, find_claims

_CHANGED = ActionType.ADD | ActionType.UPDATE
_NODE = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE


class ClaimHints:
    """The queueing hints of DynamicResources."""

    def __init__(
        self,
        claims: Claims,
        release: Release,
        *,
        taint_rules: bool = False,
        of_groups: bool = False,
    ) -> None:
        self._claims = claims
        self._taint_rules = taint_rules
        self._of_groups = of_groups
        self._claim_actions = _CHANGED
        if release.claim_deletion_wakes:
            self._claim_actions |= ActionType.DELETE

    def events(self) -> list[ClusterEvent]:
        """Return the events to register: claims, classes, slices, nodes, and generated claims."""
        events = [
            ClusterEvent(EventResource.NODE, _NODE),
            ClusterEvent(
                EventResource.RESOURCE_CLAIM, self._claim_actions, self.after_claim_changed
            ),
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
                self.after_pod_changed,
            ),
            ClusterEvent(EventResource.DEVICE_CLASS, _CHANGED),
            ClusterEvent(EventResource.RESOURCE_SLICE, _CHANGED),
        ]
        if self._taint_rules:
            freed = ActionType.UPDATE | ActionType.DELETE
            events.append(ClusterEvent(EventResource.DEVICE_TAINT_RULE, freed))
        return events

    def after_claim_changed(
        self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None
    ) -> QueueingHint:
        """Queue if a claim was deallocated, or if the status of one of the pod's claims changed."""
        if new is None:
            freed = old is not None and old.status.allocation is not None
            return QueueingHint.QUEUE if freed else QueueingHint.SKIP
        found = find_claims(pod, self._claims, of_groups=self._of_groups)
        if isinstance(found, str):
            return QueueingHint.SKIP
        if old is not None and old.status.allocation and not new.status.allocation:
            return QueueingHint.QUEUE
        if all(claim.metadata.uid != new.metadata.uid for claim in found):
            return QueueingHint.SKIP
        if old is None or old.status != new.status:
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def after_pod_changed(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        """Queue if all claims of the pod have been created."""
        found = find_claims(new, self._claims, of_groups=self._of_groups)
        return QueueingHint.SKIP if isinstance(found, str) else QueueingHint.QUEUE
