"""DynamicResources: hold its place in the profile, and refuse what it cannot yet allocate.

Devices are not allocated yet. A pod without resource claims is answered as kube-scheduler answers;
a pod that needs devices gets kube-scheduler's refusal where one is due anyway, and a refusal on
every node otherwise: it is never placed without its devices.
"""

# kube-scheduler: plugins/dynamicresources/dynamicresources.go, extendeddynamicresources.go

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mooring.api import DeviceClass, Pod, ResourceClaim
from mooring.framework.columns import Mask
from mooring.framework.decision import NodeStatuses
from mooring.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState, StateNotFoundError
from mooring.framework.status import Status
from mooring.plugins.args import DynamicResourcesArgs
from mooring.plugins.dynamic_resources.claims import find_claims, missing_class
from mooring.plugins.node_resources.device_classes import any_backed, backed_resources

NO_NEW_CLAIMS = Status.unschedulable("no new claims to deallocate")
STILL_NOT_SCHEDULABLE = Status.unschedulable("still not schedulable")
#: Mooring's own: kube-scheduler would allocate here.
NOT_SUPPORTED = Status.unresolvable(
    "cannot allocate all claims: dynamic resource allocation is not supported yet"
)


class DeviceNeeds:
    """What a pod needs devices for. Immutable once PreFilter has finished."""

    __slots__ = ("claims", "resources")

    def __init__(self) -> None:
        self.claims: tuple[ResourceClaim, ...] = ()
        #: Extended resources that a device class stands for.
        self.resources: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.claims or self.resources)


class DynamicResources(Plugin):
    """Refuse pods that need devices, in kube-scheduler's place and, where they fit, its words."""

    name = "DynamicResources"
    Args = DynamicResourcesArgs

    def __init__(
        self, args: DynamicResourcesArgs | None = None, handle: Handle | None = None
    ) -> None:
        super().__init__(args, handle)

    def start(self) -> None:
        """Ask for claims and device classes."""
        self._claims = self.handle.lister(ResourceClaim)
        self._classes = self.handle.lister(DeviceClass)
        self._backed = backed_resources(self.handle)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep a pod out of the queue until its claims exist."""
        if not pod.spec.resource_claims:
            return None
        found = find_claims(pod, self._claims)
        return Status.unresolvable(found) if isinstance(found, str) else None

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Step aside where the pod needs no devices."""
        needs = DeviceNeeds()
        # Written even where a refusal follows: PostFilter reads it.
        state.write(self.name, needs)
        found = find_claims(pod, self._claims) if pod.spec.resource_claims else []
        if isinstance(found, str):
            return Status.unresolvable(found)
        requests = self.handle.pod_info(pod).requests
        resources = tuple(
            name for name, amount in requests.items() if amount and name in self._backed
        )
        if not found and not resources:
            return Status.skip()
        for claim in found:
            if not claim.status.get("allocation"):
                problem = missing_class(claim, self._classes)
                if problem:
                    return Status.unresolvable(problem)
        needs.claims, needs.resources = tuple(found), resources
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node where devices would have to be allocated."""
        needs: DeviceNeeds = state.read(self.name)
        if needs.claims or any(not node.allocatable.get(name, 0) for name in needs.resources):
            return NOT_SUPPORTED
        return None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes where devices would have to be allocated."""
        needs: DeviceNeeds = state.read(self.name)
        if needs.claims:
            yield NOT_SUPPORTED, np.ones(len(nodes), dtype=np.bool_)
            return
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for name in needs.resources:
            # A device plugin of the node provides the resource without a claim.
            refused |= nodes.allocatable(name) == 0
        yield NOT_SUPPORTED, refused

    def post_filter(self, state: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        """Say that there is no claim whose devices could be given back.

        Where an earlier plugin refused the pod in PreFilter there is nothing to read, and
        kube-scheduler's answer is the error "not found".
        """
        try:
            needs: DeviceNeeds = state.read(self.name)
        except StateNotFoundError as error:
            return Status.error(str(error))
        return STILL_NOT_SCHEDULABLE if needs else NO_NEW_CLAIMS

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Score nothing: no node on which devices are needed gets this far."""
        return 0

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> int:
        """Score nothing: no node on which devices are needed gets this far."""
        return 0

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Refuse a pod with claims that no Filter has stopped (the point can be disabled)."""
        needs: DeviceNeeds | None = state.get(self.name)
        return NOT_SUPPORTED if needs is not None and needs.claims else None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Give nothing back: nothing is ever taken."""

    def pre_bind_pre_flight(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """Say that there is nothing to write: no pod with claims gets this far."""
        return Status.skip()

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Write nothing: no pod with claims gets this far."""

    def sign_pod(self, pod: Pod) -> tuple[str, ...] | None:
        """Leave pods that need devices unsigned: claims and classes decide."""
        requests = self.handle.pod_info(pod).requests
        return None if pod.spec.resource_claims or any_backed(requests, self._backed) else ()

    def events_to_register(self) -> list[ClusterEvent]:
        """Ask for claims, classes, devices, and nodes."""
        changed = ActionType.ADD | ActionType.UPDATE
        node_actions = (
            ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        )
        return [
            ClusterEvent(EventResource.NODE, node_actions),
            ClusterEvent(EventResource.RESOURCE_CLAIM, changed, self.after_claim_changed),
            ClusterEvent(
                EventResource.POD,
                ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
                self.after_pod_changed,
            ),
            ClusterEvent(EventResource.DEVICE_CLASS, changed),
            ClusterEvent(EventResource.RESOURCE_SLICE, changed),
        ]

    def after_claim_changed(
        self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim
    ) -> QueueingHint:
        """Retry where devices were given back, or the status of one of the pod's claims changed."""
        found = find_claims(pod, self._claims)
        if isinstance(found, str):
            return QueueingHint.SKIP
        if old is not None and old.status.get("allocation") and not new.status.get("allocation"):
            return QueueingHint.QUEUE
        if all(claim.metadata.uid != new.metadata.uid for claim in found):
            return QueueingHint.SKIP
        if old is None or old.status != new.status:
            return QueueingHint.QUEUE
        return QueueingHint.SKIP

    def after_pod_changed(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        """Retry where the pod's own claims have all been made."""
        if pod.metadata.uid != new.metadata.uid or isinstance(find_claims(new, self._claims), str):
            return QueueingHint.SKIP
        return QueueingHint.QUEUE
