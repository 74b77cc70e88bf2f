"""Queueing hints: which changes may make a pod schedulable that VolumeBinding refused."""

# kube-scheduler: plugins/volumebinding/volume_binding.go (isSchedulableAfter…)

from __future__ import annotations

from mooring.api import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from mooring.api.volume_claims import claim_names
from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.volumes.csi_nodes import MIGRATED_PLUGINS
from mooring.plugins.volumes.finder import volume_limit


def _queue_if(worth_it: bool) -> QueueingHint:
    return QueueingHint.QUEUE if worth_it else QueueingHint.SKIP


def after_csi_node_changed(pod: Pod, old: CSINode | None, new: CSINode) -> QueueingHint:
    """Queue for a new CSINode, or if its migrated plugins changed."""
    return _queue_if(
        old is None
        or old.metadata.annotations.get(MIGRATED_PLUGINS, "")
        != new.metadata.annotations.get(MIGRATED_PLUGINS, "")
    )


def after_claim_changed(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """Queue if the claim is one of the pod's, including those of ephemeral volumes."""
    return _queue_if(
        new.metadata.namespace == pod.metadata.namespace
        and any(name == new.metadata.name for name, _ in claim_names(pod))
    )


def after_class_changed(pod: Pod, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    """Queue for a new class, or if its allowed topologies changed."""
    return _queue_if(old is None or old.allowed_topologies != new.allowed_topologies)


def after_capacity_changed(
    pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> QueueingHint:
    """Queue for new storage, or if larger volumes have become possible."""
    return _queue_if(old is None or volume_limit(new) > volume_limit(old))


def after_driver_updated(pod: Pod, old: CSIDriver, new: CSIDriver) -> QueueingHint:
    """Queue if a driver of the pod's inline volumes stopped tracking its capacity."""
    return _queue_if(
        bool(old.spec.storage_capacity)
        and not new.spec.storage_capacity
        and any(
            volume.csi is not None and volume.csi.driver == new.metadata.name
            for volume in pod.spec.volumes
        )
    )
