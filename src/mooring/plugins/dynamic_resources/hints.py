"""Queueing hints: which changes may make a pod schedulable that waits for devices."""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go (EventsToRegister)

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Pod, ResourceClaim
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.listers import Lister
from mooring.framework.releases import Release
from mooring.plugins.dynamic_resources.resource_claims import Claims, find_claims

#: The index of pods by their claims.
_BY_CLAIM = "resource-claim"
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
        pods: Lister[Pod] | None = None,
    ) -> None:
        """Prepare the hints; `pods` are needed to find those of a claim before hints are asked."""
        self._pods = pods
        if pods is not None:
            pods.add_index(_BY_CLAIM, _claim_keys)
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
                EventResource.RESOURCE_CLAIM,
                self._claim_actions,
                self.after_claim_changed,
                pre_hint=None if self._pods is None else self.pods_of_claim,
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

    def pods_of_claim(
        self, old: ResourceClaim | None, new: ResourceClaim | None
    ) -> Iterable[Pod] | None:
        """Return the pods that use a claim that changed; None if it has freed devices."""
        claim = new or old
        was_allocated = old is not None and old.status.allocation is not None
        if claim is None or (was_allocated and (new is None or new.status.allocation is None)):
            return None
        assert self._pods is not None
        return self._pods.by_index(_BY_CLAIM, claim.key)

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


def _claim_keys(pod: Pod) -> list[str]:
    """Return "namespace/name" of the claims that a pod uses."""
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    names = {
        entry.resource_claim_name or made.get(entry.name) for entry in pod.spec.resource_claims
    }
    return [f"{pod.metadata.namespace}/{name}" for name in names if name is not None]
