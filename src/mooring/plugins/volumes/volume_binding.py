"""VolumeBinding: find, reserve and bind the volumes of a pod's claims."""

# kube-scheduler: plugins/volumebinding/volume_binding.go

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from mooring.api import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    TypedObject,
)
from mooring.api.volume_claims import has_claims
from mooring.errors import ApiError
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.plugin import Plugin, PreFlight
from mooring.framework.state import CycleState, StateNotFoundError
from mooring.framework.status import Status
from mooring.plugins.args import VolumeBindingArgs
from mooring.plugins.volumes import hints
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.capacity_score import CapacityScore
from mooring.plugins.volumes.csi_nodes import CSINodes
from mooring.plugins.volumes.finder import Found, VolumeFinder
from mooring.plugins.volumes.pod_volume_claims import (
    PodVolumeClaims,
    PodVolumes,
    refuse_claims,
    sort_claims,
)
from mooring.plugins.volumes.reachability import ManyNodes, OneNode, Reach
from mooring.plugins.volumes.volume_binder import BindingFailedError, VolumeBinder
from mooring.typing import Ints, Mask

T = TypeVar("T", bound=TypedObject)

NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND_IMMEDIATE = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")

_REFUSALS = (
    (Status.unresolvable(NODE_CONFLICT), "node_conflict"),
    (Status.unresolvable(BIND_CONFLICT), "bind_conflict"),
    (Status.unresolvable(NOT_ENOUGH_SPACE), "no_space"),
    (Status.unresolvable(VOLUME_NOT_EXIST), "volume_missing"),
)

#: Seconds between two checks of claims that are being bound. # kube-scheduler: binder.go
_POLL_INTERVAL = 1.0


class PodVolumeState:
    """The volumes found for one pod, from PreFilter to PreBind.

    Clones of the cycle state share it, as in Go.
    """

    __slots__ = ("_parts", "all_bound", "by_name", "claims")

    def __init__(self, claims: PodVolumeClaims | None) -> None:
        #: None if the pod has no claims.
        self.claims = claims
        self.all_bound = False
        #: What the node form found, by node name.
        self.by_name: dict[str, PodVolumes] = {}
        #: What the vector form found, for all rows of the snapshot or for some.
        self._parts: list[tuple[Rows | None, Found]] = []

    def keep(self, nodes: Nodes, found: Found) -> None:
        """Store the result of the vector form."""
        if nodes.rows is None:
            self._parts.clear()
        self._parts.append((nodes.rows, found))

    def of(self, node_name: str, row: int) -> PodVolumes | None:
        """Return what was found for a node, or None."""
        known = self.by_name.get(node_name)
        if known is not None or row < 0:
            return known
        for rows, found in reversed(self._parts):
            if rows is None:
                return found.at(row)
            positions = np.flatnonzero(rows == row)
            if len(positions):
                return found.at(int(positions[0]))
        return None

    def scores(self, scorer: CapacityScore, nodes: Nodes) -> Ints | int:
        """Score the nodes by the volumes found for them; nodes without volumes get 0."""
        if not self._parts and not self.by_name:
            return 0
        scores = np.zeros(len(nodes.all), dtype=np.int64)
        for rows, found in self._parts:
            scores[slice(None) if rows is None else rows] = found.scores(scorer.of)
        for name, volumes in self.by_name.items():
            row = nodes.row(name)
            if row >= 0:
                scores[row] = scorer.of(volumes)
        return nodes.gather(scores)


def _assumed(handle: Handle, kind: type[T], plural: str) -> AssumedObjects[T]:
    """Return the assumed objects of a kind, which all profiles share.

    So a volume that a pod of one profile has reserved is taken for the pods of other profiles.
    """
    lister = handle.lister(kind)
    return handle.shared(f"VolumeBinding {plural}", lambda: AssumedObjects(lister, plural))


class VolumeBinding(Plugin):
    """The plugin that finds volumes for a pod's claims, and binds them once a node is chosen.

    PreBind writes to the API server, then checks the claims until the controller has bound them
    or `bindTimeoutSeconds` have passed on the handle's clock. It checks once before it first
    sleeps, so that it does not wait if the controller acts immediately, as in memory.
    """

    name = "VolumeBinding"
    skips_resizes = True
    Args = VolumeBindingArgs
    # The plugin reads claims and volumes, which also show what the node's pods use.
    reads_pods = False

    def __init__(self, args: VolumeBindingArgs | None = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._scorer: CapacityScore | None = None

    def start(self) -> None:
        """Set up the layers of assumed volumes and claims, and the indexes."""
        handle = self.handle
        if handle.features.enabled("StorageCapacityScoring"):
            self._scorer = CapacityScore(self.args.with_defaults(handle.features).shape)
        volumes = _assumed(handle, PersistentVolume, "persistentvolumes")
        self._claims = _assumed(handle, PersistentVolumeClaim, "persistentvolumeclaims")
        self._csi_nodes = CSINodes(handle.lister(CSINode))
        self._reach = Reach()
        self._finder = VolumeFinder(handle, volumes)
        self._binder = VolumeBinder(handle, volumes, self._claims)

    # Choosing a node.

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Look up the pod's claims; skip a pod that has none."""
        refusal = refuse_claims(pod, self._claims.lister)
        if refusal is None:
            state.write(self.name, PodVolumeState(None))
            return Status.skip()
        if refusal:
            return Status.unresolvable(refusal)
        found = sort_claims(pod, self._claims, self.handle.lister(StorageClass))
        if isinstance(found, str):
            return Status.error(found)
        if found.immediate:
            return UNBOUND_IMMEDIATE
        state.write(self.name, PodVolumeState(found))
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that cannot reach the pod's volumes, or have them provisioned."""
        kept: PodVolumeState = state.read(self.name)
        if kept.claims is None:
            return None
        found = self._finder.find(kept.claims, OneNode(node, self._csi_nodes))
        for text, mask in found.errors:
            if mask[0]:
                self._stage_failed("predicate")
                return Status.error(text)
        reasons = [
            reason
            for status, field in _REFUSALS
            if getattr(found, field)[0]
            for reason in status.reasons
        ]
        if reasons:
            return Status.unresolvable(*reasons)
        volumes = found.at(0)
        assert volumes is not None
        kept.by_name[node.name] = volumes
        return None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes that cannot reach the pod's volumes, or have them provisioned."""
        kept: PodVolumeState = state.read(self.name)
        if kept.claims is None:
            return
        found = self._finder.find(kept.claims, ManyNodes(nodes, self._reach, self._csi_nodes))
        kept.keep(nodes, found)
        for text, mask in found.errors:
            if mask.any():
                self._stage_failed("predicate")
            yield Status.error(text), mask
        for status, field in _REFUSALS:
            mask = getattr(found, field)
            if mask.any():
                yield status, mask

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the first claim of the pod that a node cannot satisfy, and why."""
        kept: PodVolumeState | None = state.get(self.name)
        if kept is None or kept.claims is None:
            return None
        place = OneNode(node, self._csi_nodes)
        alone = [
            *((claim, PodVolumeClaims(bound=[claim])) for claim in kept.claims.bound),
            *((claim, PodVolumeClaims(delayed=[claim])) for claim in kept.claims.delayed),
        ]
        for claim, wanted in alone:
            found = self._finder.find(wanted, place)
            for status, field in _REFUSALS:
                if getattr(found, field)[0]:
                    return f"claim {claim.metadata.name}: {status.message}"
        return None

    def pre_score(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Skip unless storage capacity is scored."""
        if self._scorer is None:
            return Status.skip()
        try:
            state.read(self.name)
        except StateNotFoundError as error:
            return Status.error(str(error))
        return None

    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> int | Status:
        """Score a node by the utilization of its storage with the pod's volumes."""
        if self._scorer is None:
            return 0
        kept: PodVolumeState = state.read(self.name)
        volumes = kept.of(node.name, node.row)
        return 0 if volumes is None else self._scorer.of(volumes)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ints | int | Status:
        """Score the nodes by the utilization of their storage with the pod's volumes."""
        kept: PodVolumeState = state.read(self.name)
        if self._scorer is None:
            return 0
        return kept.scores(self._scorer, nodes)

    # Reserve and PreBind.

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Assume the volumes found for the node."""
        kept = self._kept(state)
        if isinstance(kept, Status):
            return kept
        planned = None
        if kept.claims is not None:
            planned = kept.of(node_name, self.handle.snapshot.row(node_name))
        if planned is None:
            kept.all_bound = True
            return None
        answer = self._binder.assume(pod, node_name, planned)
        if isinstance(answer, str):
            self._stage_failed("assume")
            return Status.error(answer)
        kept.by_name[node_name] = planned
        kept.all_bound = answer
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Drop what was assumed and not yet written."""
        kept = self._kept(state)
        if isinstance(kept, Status):
            return
        planned = kept.by_name.get(node_name)
        if planned is not None:
            self._binder.revert(planned)

    def pre_bind_pre_flight(
        self, state: CycleState, pod: Pod, node_name: str
    ) -> PreFlight | Status:
        """Return Skip if there is nothing to bind."""
        kept = self._kept(state)
        if isinstance(kept, Status):
            return kept
        if kept.all_bound:
            return Status.skip()
        if node_name not in kept.by_name:
            return _no_volumes(node_name)
        return PreFlight(allow_parallel=True)

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Write the bindings, and wait until the claims are bound."""
        kept = self._kept(state)
        if isinstance(kept, Status):
            return kept
        if kept.all_bound:
            return None
        planned = kept.by_name.get(node_name)
        if planned is None:
            return _no_volumes(node_name)
        status = await self._bind_volumes(pod, node_name, planned)
        if status is not None:
            self._stage_failed("bind")
        return status

    async def _bind_volumes(self, pod: Pod, node_name: str, planned: PodVolumes) -> Status | None:
        try:
            await self._binder.write(planned)
        except ApiError as error:
            return Status.error(error.message or str(error))
        clock = self.handle.clock
        deadline = clock.now() + self.args.bind_timeout_seconds
        try:
            while not self._binder.is_done(pod, node_name, planned):
                if clock.now() >= deadline:
                    return Status.error("binding volumes: context deadline exceeded")
                await clock.sleep(_POLL_INTERVAL)
        except BindingFailedError as error:
            return Status.error(f"binding volumes: {error}")
        return None

    def _stage_failed(self, operation: str) -> None:
        self.handle.metrics.volume_scheduling_stage_errors[operation].inc()

    def _kept(self, state: CycleState) -> PodVolumeState | Status:
        kept: PodVolumeState | None = state.get(self.name)
        return Status.error(str(StateNotFoundError(self.name))) if kept is None else kept

    def sign_pod(self, pod: Pod) -> tuple[()] | None:
        """Return None for pods with claims: their answers depend on volumes and classes."""
        return None if has_claims(pod) else ()

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events after which volumes or storage may be in reach."""
        changed = ActionType.ADD | ActionType.UPDATE
        return [
            ClusterEvent(EventResource.STORAGE_CLASS, changed, hints.after_class_changed),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changed, hints.after_claim_changed),
            ClusterEvent(EventResource.PERSISTENT_VOLUME, changed),
            ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            ClusterEvent(EventResource.CSI_NODE, changed, hints.after_csi_node_changed),
            ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE, hints.after_driver_updated),
            ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, changed, hints.after_capacity_changed),
        ]


def _no_volumes(node_name: str) -> Status:
    return Status.error(f'no pod volume found for node "{node_name}"')
