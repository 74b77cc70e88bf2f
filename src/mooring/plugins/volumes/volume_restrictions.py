"""VolumeRestrictions: separate pods that may not share a disk or a claim."""

# kube-scheduler: plugins/volumerestrictions/volume_restrictions.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

import numpy as np

from mooring.api import PersistentVolumeClaim, Pod, Volume
from mooring.api import volume_claims as claims
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.plugins.volumes.rows import RowIndex
from mooring.plugins.volumes.volume_zone import after_claim_changed
from mooring.typing import Mask

DISK_CONFLICT = Status.unschedulable("node(s) had no available disk")
READ_WRITE_ONCE_POD_CONFLICT = Status.unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
NO_STATE = Status.error('cannot read "PreFilterVolumeRestrictions" from cycleState')


#: Inline disks that pods on one node share only if all of them just read; whether a pod just reads.
Disks = Mapping[Hashable, bool]


class ClaimConflicts:
    """The number of uses of the pod's ReadWriteOncePod claims by pods on nodes."""

    __slots__ = ("claim_names", "count", "disks")

    def __init__(self, claim_names: frozenset[str], count: int, disks: Disks) -> None:
        self.claim_names = claim_names
        self.count = count
        #: The pod's inline disks, to compare with those of other pods.
        self.disks = disks

    def clone(self) -> ClaimConflicts:
        """Return a copy, on which a dry run can add and remove pods."""
        return ClaimConflicts(self.claim_names, self.count, self.disks)

    def change(self, other: Pod, sign: int) -> None:
        """Add (`sign` 1) or remove (-1) the claims of a pod.

        Only names are compared, not namespaces, as in kube-scheduler.
        """
        for volume in other.spec.volumes:
            claim = volume.persistent_volume_claim
            if claim is not None and claim.claim_name in self.claim_names:
                self.count += sign


def disks_of_volume(volume: Volume) -> Iterator[tuple[Hashable, bool]]:
    """Yield the inline disks of a volume, each with whether it is only read."""
    gce, aws, iscsi, rbd = (
        volume.gce_persistent_disk,
        volume.aws_elastic_block_store,
        volume.iscsi,
        volume.rbd,
    )
    if gce is not None:
        yield ("gce", gce.pd_name), gce.read_only
    if aws is not None:
        # These cannot be shared, even if all pods only read.
        yield ("aws", aws.volume_id), False
    if iscsi is not None:
        yield ("iscsi", iscsi.iqn), iscsi.read_only
    if rbd is not None:
        # An image is the same one if any of the monitors is the same.
        for monitor in rbd.monitors:
            yield ("rbd", monitor, rbd.pool, rbd.image), rbd.read_only


def disks_of(pod: Pod) -> Disks:
    """Return the inline disks of a pod."""
    disks: dict[Hashable, bool] = {}
    for volume in pod.spec.volumes:
        for disk, read_only in disks_of_volume(volume):
            disks[disk] = read_only and disks.get(disk, True)
    return disks


def disks_conflict(disks: Disks, others: Iterable[Pod]) -> bool:
    """Return whether a pod's disk conflicts with one of other pods on the node."""
    return bool(disks) and any(
        disk in disks and not (read_only and disks[disk])
        for other in others
        for volume in other.spec.volumes
        for disk, read_only in disks_of_volume(volume)
    )


def _keys_of_node(node: NodeInfo) -> Iterator[Hashable]:
    yield from node.pvc_refs
    for pod in node.pods.values():
        yield from disks_of(pod.pod)


class VolumeRestrictions(Plugin):
    """The plugin for disks that may not be shared, and for ReadWriteOncePod claims."""

    name = "VolumeRestrictions"
    skips_resizes = True
    reads_pod_labels = False

    def __init__(self, args: object = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        #: Rows by claim in use ("namespace/name") and by disk.
        self._in_use = RowIndex(_keys_of_node)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Count the ReadWriteOncePod claims in use; skip if nothing can conflict."""
        once = set()
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = self.handle.lister(PersistentVolumeClaim).get(name, namespace)
            if claim is None:
                return Status.unresolvable(claims.claim_not_found(name))
            if claims.READ_WRITE_ONCE_POD in claim.spec.access_modes:
                once.add(name)
        disks = disks_of(pod)
        count = 0
        if once or disks:
            self._in_use.refresh(nodes)
            count = sum(1 for name in once if self._in_use.rows(f"{namespace}/{name}"))
        if not disks and not count:
            return Status.skip()
        state.write(self.name, ClaimConflicts(frozenset(once), count, disks))
        return None

    def add_pod(self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo) -> Status | None:
        """Add a pod to the counts."""
        return self._change(state, other, 1)

    def remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Remove a pod from the counts."""
        return self._change(state, other, -1)

    def _change(self, state: CycleState, other: PodInfo, sign: int) -> Status | None:
        conflicts: ClaimConflicts | None = state.get(self.name)
        if conflicts is None:
            return NO_STATE
        conflicts.change(other.pod, sign)
        return None

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node on which a disk is in use, and every node if a claim is in use."""
        conflicts: ClaimConflicts | None = state.get(self.name)
        disks = disks_of(pod) if conflicts is None else conflicts.disks
        if disks_conflict(disks, (other.pod for other in node.pods.values())):
            return DISK_CONFLICT
        if conflicts is None:
            return NO_STATE
        return READ_WRITE_ONCE_POD_CONFLICT if conflicts.count > 0 else None

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes on which a disk is in use, and all nodes if a claim is in use."""
        conflicts: ClaimConflicts | None = state.get(self.name)
        if conflicts is None:
            yield NO_STATE, np.ones(len(nodes), dtype=np.bool_)
            return
        refused = np.zeros(len(nodes), dtype=np.bool_)
        if conflicts.disks:
            for position in self._positions(conflicts.disks, nodes):
                others = (other.pod for other in nodes.info(position).pods.values())
                refused[position] = disks_conflict(conflicts.disks, others)
            yield DISK_CONFLICT, refused
        if conflicts.count > 0:
            yield READ_WRITE_ONCE_POD_CONFLICT, ~refused

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the pods on a node that use one of the pod's disks."""
        disks = disks_of(pod)
        others = [one.pod for one in node.pods.values() if disks_conflict(disks, (one.pod,))]
        if not others:
            return None
        return f"a disk of the pod is used by {', '.join(other.key for other in others)}"

    def _positions(self, disks: Disks, nodes: Nodes) -> Iterable[int]:
        """Return the positions of nodes on which a disk may be in use."""
        if isinstance(nodes, WhatIf):
            return range(len(nodes))
        self._in_use.refresh(nodes)
        rows = {row for disk in disks for row in self._in_use.rows(disk)}
        if nodes.rows is None:
            return rows
        used = np.fromiter(rows, dtype=np.intp, count=len(rows))
        return [int(position) for position in np.flatnonzero(np.isin(nodes.rows, used))]

    def sign_pod(self, pod: Pod) -> tuple[str, ...] | None:
        """Sign by the volumes; a pod with claims is not signed."""
        return claims.sign_volumes(pod)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of deleted pods, new nodes and new claims."""
        return [
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, after_pod_deleted),
            ClusterEvent(EventResource.NODE, ActionType.ADD),
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_changed
            ),
        ]


def after_pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
    """Queue if the deleted pod had a disk or a claim that the pod needs."""
    if old.metadata.namespace != pod.metadata.namespace:
        return QueueingHint.SKIP
    if disks_conflict(disks_of(pod), (old,)):
        return QueueingHint.QUEUE
    wanted = _claim_names(pod)
    return QueueingHint.SKIP if wanted.isdisjoint(_claim_names(old)) else QueueingHint.QUEUE


def _claim_names(pod: Pod) -> set[str]:
    return {
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
