"""NodeVolumeLimits: attach no more volumes to a node than its CSI drivers allow."""

# kube-scheduler: plugins/nodevolumelimits/csi.go

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from mooring.api import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    VolumeAttachment,
)
from mooring.api import volume_claims as claims
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.handle import Handle
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.plugins.volumes.csi_nodes import CSINodes, runs_driver, volume_limits
from mooring.plugins.volumes.csi_translation import (
    PLUGIN_BY_NAME,
    TranslationError,
    inline_handle,
    plugin_of,
    volume_handle,
)
from mooring.plugins.volumes.rows import RowCounts
from mooring.typing import Ints, Mask

LIMIT_EXCEEDED = Status.unschedulable("node(s) exceed max volume count")
NO_CLAIM_NAME = Status.error(claims.CLAIM_HAD_NO_NAME)

_BY_NODE = "NodeVolumeLimits/node"

#: A driver and the identity of a volume: its handle, or the claim if it is not provisioned yet.
Attachable = tuple[str, Hashable]
#: The volumes that a pod needs on a node without a CSINode, and on one with a CSINode; or why it is
#: refused there.
Wanted = tuple["set[Attachable] | Status", "set[Attachable] | Status"]

_PRE_FILTER = "PreFilterNodeVolumeLimits"


def is_attachable(pod: Pod) -> bool:
    """Return whether any of the pod's volumes may have to be attached by a CSI driver."""
    return any(
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or plugin_of(volume) is not None
        for volume in pod.spec.volumes
    )


#: The count of a node with volumes that may be faulty, which must be counted exactly.
_UNSURE = 2**40


def _count_attachable(node: NodeInfo) -> int:
    """Return an upper bound of the volumes attached to a node for its pods."""
    count = 0
    for pod in node.pods.values():
        for volume in pod.pod.spec.volumes:
            if volume.persistent_volume_claim is not None:
                count += 1
            elif volume.ephemeral is not None:
                return _UNSURE
            else:
                plugin = plugin_of(volume)
                if plugin is not None and plugin.migrated:
                    try:
                        inline_handle(volume)
                    except TranslationError:
                        return _UNSURE
                    count += 1
    return count


class NodeVolumeLimits(Plugin):
    """The plugin that refuses nodes whose CSI drivers cannot attach the pod's volumes as well.

    The vector form first compares the limit with an upper bound: the volumes of all pods on a node,
    attached or not, plus its VolumeAttachments. Volumes are counted exactly only on nodes near
    their limit, and on nodes with volumes that may be faulty.
    """

    name = "NodeVolumeLimits"
    skips_resizes = True
    reads_pod_labels = False

    def __init__(self, args: object = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._volume_counts = RowCounts(_count_attachable)
        self._attachment_stamp = (-1, -1)
        self._attachment_counts: Ints = np.zeros(0, dtype=np.int64)

    def start(self) -> None:
        """Index the VolumeAttachments by node."""
        self._csi_nodes = CSINodes(self.handle.lister(CSINode))
        self.handle.lister(VolumeAttachment).add_index(
            _BY_NODE, lambda attachment: (attachment.spec.node_name,)
        )

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Find the pod's volumes; skip a pod that has nothing to attach."""
        if not is_attachable(pod):
            return Status.skip()
        state.write(_PRE_FILTER, self._wanted_by(pod))
        return None

    def _wanted_by(self, pod: Pod) -> Wanted:
        return self._volumes_of(pod, False), self._volumes_of(pod, True)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuse a node that cannot attach the pod's volumes as well."""
        csi_node = self._csi_nodes.get(node.name)
        wanted = (state.get(_PRE_FILTER) or self._wanted_by(pod))[csi_node is not None]
        if isinstance(wanted, Status):
            return wanted
        if self.handle.features.enabled("VolumeLimitScaling"):
            for driver in sorted({driver for driver, _ in wanted}):
                if self._must_run(driver) and not runs_driver(csi_node, driver):
                    return _not_installed(driver)
        return self._exceeds(wanted, node, volume_limits(csi_node))

    def filter_nodes(
        self, state: CycleState, pod: Pod, nodes: Nodes
    ) -> Iterable[tuple[Status, Mask]]:
        """Refuse the nodes that cannot attach the pod's volumes as well."""
        present = self._csi_nodes.present(nodes)
        without, with_csi_node = state.get(_PRE_FILTER) or self._wanted_by(pod)
        if isinstance(without, Status) and without == with_csi_node:
            yield without, np.ones(len(nodes), dtype=np.bool_)
            return
        for wanted, has_csi_node in ((with_csi_node, True), (without, False)):
            mask = present if has_csi_node else ~present
            if isinstance(wanted, Status):
                yield wanted, mask
                continue
            if self.handle.features.enabled("VolumeLimitScaling"):
                for driver in sorted({driver for driver, _ in wanted}):
                    if self._must_run(driver):
                        missing = mask & ~self._csi_nodes.has_driver(driver, nodes)
                        yield _not_installed(driver), missing
                        mask = mask & ~missing
            if has_csi_node and wanted:
                yield from self._exceeding(wanted, nodes, mask)

    def _exceeding(
        self, wanted: set[Attachable], nodes: Nodes, mask: Mask
    ) -> Iterable[tuple[Status, Mask]]:
        near = self._csi_nodes.limited(nodes)
        if not isinstance(nodes, WhatIf):
            bounds = self._upper_bounds(nodes)
            full = bounds >= _UNSURE
            for driver, count in Counter(driver for driver, _ in wanted).items():
                full |= bounds + count > self._csi_nodes.limits(driver, nodes)
            near = near & full
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for position in np.flatnonzero(near & mask).tolist():
            node = nodes.info(position)
            status = self._exceeds(wanted, node, volume_limits(self._csi_nodes.get(node.name)))
            if status is LIMIT_EXCEEDED:
                refused[position] = True
            elif status is not None:
                only = np.zeros(len(nodes), dtype=np.bool_)
                only[position] = True
                yield status, only
        yield LIMIT_EXCEEDED, refused

    def _upper_bounds(self, nodes: Nodes) -> Ints:
        attachments = self.handle.lister(VolumeAttachment)
        stamp = (attachments.version, nodes.node_generation)
        if stamp != self._attachment_stamp:
            self._attachment_stamp = stamp
            everything = nodes.all
            self._attachment_counts = np.zeros(len(everything), dtype=np.int64)
            for attachment in attachments.list():
                row = everything.row(attachment.spec.node_name)
                if row >= 0:
                    self._attachment_counts[row] += 1
        return nodes.gather(self._volume_counts.of(nodes) + self._attachment_counts)

    def _exceeds(
        self, wanted: set[Attachable], node: NodeInfo, limits: dict[str, int]
    ) -> Status | None:
        """Return a refusal if the volumes on a node, with those wanted, exceed its limits."""
        found = self._over_limit(wanted, node, limits)
        return LIMIT_EXCEEDED if isinstance(found, tuple) else found

    def diagnose(self, state: CycleState, pod: Pod, node: NodeInfo) -> str | None:
        """Return the driver that cannot attach the pod's volumes as well, with its numbers."""
        csi_node = self._csi_nodes.get(node.name)
        wanted = (state.get(_PRE_FILTER) or self._wanted_by(pod))[csi_node is not None]
        if isinstance(wanted, Status):
            return None
        found = self._over_limit(wanted, node, volume_limits(csi_node))
        if not isinstance(found, tuple):
            return None
        driver, attached, new, limit = found
        return f"{driver}: {attached} volumes are attached, {new} more asked for, {limit} allowed"

    def _over_limit(
        self, wanted: set[Attachable], node: NodeInfo, limits: dict[str, int]
    ) -> tuple[str, int, int, int] | Status | None:
        """Return the first driver whose limit is exceeded: its name, the numbers of attached and
        of new volumes, and the limit; a Status if the volumes cannot be counted."""
        if not wanted or not limits:
            return None
        attached: set[Attachable] = set()
        for pod in node.pods.values():
            volumes = self._volumes_of(pod.pod, True, existing=True)
            if isinstance(volumes, Status):
                return volumes
            attached |= volumes
        new = Counter(driver for driver, _ in wanted - attached)
        attached |= self._attached_to(node.name)
        current = Counter(driver for driver, _ in attached)
        for driver, count in new.items():
            limit = limits.get(driver)
            if limit is not None and current[driver] + count > limit:
                return driver, current[driver], count, limit
        return None

    def _attached_to(self, node_name: str) -> set[Attachable]:
        """Return the volumes that are attached to a node, or about to be."""
        attached: set[Attachable] = set()
        for attachment in self.handle.lister(VolumeAttachment).by_index(_BY_NODE, node_name):
            driver = attachment.spec.attacher
            name = attachment.spec.source.persistent_volume_name
            if not driver or name is None:
                continue
            volume = self.handle.lister(PersistentVolume).get(name)
            if volume is not None and volume.spec.csi is not None:
                attached.add((driver, volume.spec.csi.volume_handle))
        return attached

    def _volumes_of(
        self, pod: Pod, has_csi_node: bool, *, existing: bool = False
    ) -> set[Attachable] | Status:
        """Return the volumes that a pod needs attached on a node with or without a CSINode.

        If a claim does not exist, a new pod is refused; for an `existing` one it does not count.
        """
        found: set[Attachable] = set()
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            name = claims.claim_name(pod, volume)
            if name is None:
                plugin = plugin_of(volume)
                if plugin is not None and plugin.migrated and has_csi_node:
                    try:
                        found.add((plugin.driver, inline_handle(volume)))
                    except TranslationError as error:
                        text = f"converting volume({volume.name}) from inline to csi: {error}"
                        return Status.error(text)
                continue
            if not name:
                return NO_CLAIM_NAME
            claim = self.handle.lister(PersistentVolumeClaim).get(name, namespace)
            if claim is None:
                if existing:
                    continue
                text = f"looking up PVC {namespace}/{name}: {claims.claim_not_found(name)}"
                return Status.unresolvable(text)
            if volume.ephemeral is not None and volume.persistent_volume_claim is None:
                problem = claims.not_created_for(pod, claim)
                if problem:
                    return Status.error(problem)
            attachable = self._volume_behind(claim, has_csi_node)
            if attachable is not None:
                found.add(attachable)
        return found

    def _volume_behind(self, claim: PersistentVolumeClaim, has_csi_node: bool) -> Attachable | None:
        """Return the volume of a claim, or the one that its class will provision."""
        name = claim.spec.volume_name
        volume = self.handle.lister(PersistentVolume).get(name) if name else None
        if volume is None:
            return self._volume_to_come(claim, has_csi_node)
        if volume.spec.csi is not None:
            driver, handle = volume.spec.csi.driver, volume.spec.csi.volume_handle
            return (driver, handle) if driver and handle else None
        plugin = plugin_of(volume.spec)
        if plugin is None or not plugin.migrated or not has_csi_node:
            return None
        try:
            handle = volume_handle(plugin, volume)
        except TranslationError:
            return None
        return (plugin.driver, handle) if handle else None

    def _volume_to_come(
        self, claim: PersistentVolumeClaim, has_csi_node: bool
    ) -> Attachable | None:
        name = claims.claim_class(claim)
        storage_class = self.handle.lister(StorageClass).get(name) if name else None
        if storage_class is None:
            return None
        driver = storage_class.provisioner
        plugin = PLUGIN_BY_NAME.get(driver)
        if plugin is not None:
            if not plugin.migrated or not has_csi_node:
                return None
            driver = plugin.driver
        # Handles are not tuples, so a volume to be provisioned never equals an existing one.
        return (driver, (claim.metadata.namespace, claim.metadata.name)) if driver else None

    def _must_run(self, driver: str) -> bool:
        found = self.handle.lister(CSIDriver).get(driver)
        return found is not None and bool(found.spec.prevent_pod_scheduling_if_missing)

    def sign_pod(self, pod: Pod) -> tuple[()] | None:
        """Return None for pods with volumes to attach: CSINodes and attachments count too."""
        return None if is_attachable(pod) else ()

    def events_to_register(self) -> list[ClusterEvent]:
        """Return events of CSINodes, deleted pods and attachments, and new claims."""
        return [
            ClusterEvent(EventResource.CSI_NODE, ActionType.ADD),
            ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE, after_csi_node_updated),
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, after_pod_deleted),
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_added),
            ClusterEvent(
                EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, after_attachment_deleted
            ),
        ]


def _not_installed(driver: str) -> Status:
    return Status.unschedulable(f"{driver} CSI driver is not installed on the node")


def after_csi_node_updated(pod: Pod, old: CSINode, new: CSINode) -> QueueingHint:
    """Queue if the limit of a driver grew."""
    before, after = volume_limits(old), volume_limits(new)
    grew = any(limit > before.get(driver, 0) for driver, limit in after.items())
    return QueueingHint.QUEUE if grew else QueueingHint.SKIP


def after_pod_deleted(pod: Pod, old: Pod, new: Pod | None) -> QueueingHint:
    """Queue if the deleted pod was on a node, or nominated to one, and had volumes to attach."""
    placed = old.spec.node_name or old.status.nominated_node_name
    return QueueingHint.QUEUE if placed and is_attachable(old) else QueueingHint.SKIP


def after_claim_added(
    pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> QueueingHint:
    """Queue if the claim is one of the pod's, including those of ephemeral volumes."""
    if new.metadata.namespace == pod.metadata.namespace and any(
        name == new.metadata.name for name, _ in claims.claim_names(pod)
    ):
        return QueueingHint.QUEUE
    return QueueingHint.SKIP


def after_attachment_deleted(
    pod: Pod, old: VolumeAttachment, new: VolumeAttachment | None
) -> QueueingHint:
    """Queue if the pod has a claim, or an in-tree volume of the attachment's driver."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return QueueingHint.QUEUE
        plugin = plugin_of(volume)
        if plugin is not None and plugin.driver == old.spec.attacher:
            return QueueingHint.QUEUE
    return QueueingHint.SKIP
