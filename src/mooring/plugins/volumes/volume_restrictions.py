"""VolumeRestrictions: separate pods that may not share a disk or a claim."""

# kube-scheduler: plugins/volumerestrictions/volume_restrictions.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

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


class ClaimConflicts:
    """The number of uses of the pod's ReadWriteOncePod claims by pods on nodes."""

    __slots__ = ("claim_names", "count", "disks")

    def __init__(self, claim_names: frozenset[str], count: int, disks: bool) -> None:
        self.claim_names = claim_names
        self.count = count
        #: Whether the pod has inline disks to compare with those of other pods.
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


def disk_keys(volume: Volume) -> Iterator[Hashable]:
    """Yield keys of which a conflicting volume has at least one too."""
    if volume.gce_persistent_disk is not None:
        yield "gce", volume.gce_persistent_disk.pd_name
    if volume.aws_elastic_block_store is not None:
        yield "aws", volume.aws_elastic_block_store.volume_id
    if volume.iscsi is not None:
        yield "iscsi", volume.iscsi.iqn
    if volume.rbd is not None:
        yield "rbd", volume.rbd.pool, volume.rbd.image


def volumes_conflict(volume: Volume, other: Volume) -> bool:
    """Return whether two pods on one node may not mount these volumes."""
    gce, other_gce = volume.gce_persistent_disk, other.gce_persistent_disk
    if (
        gce is not None
        and other_gce is not None
        and gce.pd_name == other_gce.pd_name
        and not (gce.read_only and other_gce.read_only)
    ):
        return True
    aws, other_aws = volume.aws_elastic_block_store, other.aws_elastic_block_store
    if aws is not None and other_aws is not None and aws.volume_id == other_aws.volume_id:
        return True
    iscsi, other_iscsi = volume.iscsi, other.iscsi
    if (
        iscsi is not None
        and other_iscsi is not None
        and iscsi.iqn == other_iscsi.iqn
        and not (iscsi.read_only and other_iscsi.read_only)
    ):
        return True
    rbd, other_rbd = volume.rbd, other.rbd
    return (
        rbd is not None
        and other_rbd is not None
        and not set(rbd.monitors).isdisjoint(other_rbd.monitors)
        and rbd.pool == other_rbd.pool
        and rbd.image == other_rbd.image
        and not (rbd.read_only and other_rbd.read_only)
    )


def disks_conflict(pod: Pod, others: Iterable[Pod]) -> bool:
    """Return whether a disk of the pod conflicts with one of other pods on the node."""
    disks = [volume for volume in pod.spec.volumes if any(disk_keys(volume))]
    return bool(disks) and any(
        volumes_conflict(disk, existing)
        for other in others
        for existing in other.spec.volumes
        for disk in disks
    )


def _keys_of_node(node: NodeInfo) -> Iterator[Hashable]:
    yield from node.pvc_refs
    for pod in node.pods.values():
        for volume in pod.pod.spec.volumes:
            yield from disk_keys(volume)


class VolumeRestrictions(Plugin):
    """The plugin for disks that may not be shared, and for ReadWriteOncePod claims."""

    name = "VolumeRestrictions"

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
        disks = any(any(disk_keys(volume)) for volume in pod.spec.volumes)
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
        if disks_conflict(pod, (other.pod for other in node.pods.values())):
            return DISK_CONFLICT
        conflicts: ClaimConflicts | None = state.get(self.name)
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
            for position in self._positions(pod, nodes):
                others = (other.pod for other in nodes.info(position).pods.values())
                refused[position] = disks_conflict(pod, others)
            yield DISK_CONFLICT, refused
        if conflicts.count > 0:
            yield READ_WRITE_ONCE_POD_CONFLICT, ~refused

    def _positions(self, pod: Pod, nodes: Nodes) -> Iterable[int]:
        """Return the positions of nodes on which a disk of the pod may be in use."""
        if isinstance(nodes, WhatIf):
            return range(len(nodes))
        self._in_use.refresh(nodes)
        rows = {
            row
            for volume in pod.spec.volumes
            for key in disk_keys(volume)
            for row in self._in_use.rows(key)
        }
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
            ClusterEvent(EventResource.POD, ActionType.DELETE, after_pod_deleted),
            ClusterEvent(EventResource.NODE, ActionType.ADD),
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_changed
            ),
        ]


def after_pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
    """Queue if the deleted pod had a disk or a claim that the pod needs."""
    if old.metadata.namespace != pod.metadata.namespace:
        return QueueingHint.SKIP
    if disks_conflict(pod, (old,)):
        return QueueingHint.QUEUE
    wanted = _claim_names(pod)
    return QueueingHint.SKIP if wanted.isdisjoint(_claim_names(old)) else QueueingHint.QUEUE


def _claim_names(pod: Pod) -> set[str]:
    return {
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
