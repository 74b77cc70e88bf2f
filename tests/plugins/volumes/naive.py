"""kube-scheduler's search for volumes, node by node, to compare with."""

# kube-scheduler: plugins/volumebinding/binder.go (FindPodVolumes)

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.api import (
    CSIDriver,
    CSIStorageCapacity,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Quantity,
    StorageClass,
)
from mooring.plugins.volumes.volume_binding import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_NOT_EXIST,
)
from tests.plugins.clusters import Cluster
from tests.plugins.volumes.storage import SELECTED_NODE


def allows(volume: PersistentVolume, node: Node) -> bool:
    """Return whether a node can reach a volume (only the operator In is supported here)."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return any(
        all(node.metadata.labels.get(one.key) in one.values for one in term.match_expressions)
        for term in affinity.required.node_selector_terms
        if term.match_expressions
    )


def _size(claim: PersistentVolumeClaim) -> Quantity:
    return Quantity(claim.spec.resources.requests.get("storage", 0))


def match(
    claim: PersistentVolumeClaim,
    volumes: Sequence[PersistentVolume],
    node: Node,
    taken: set[str],
) -> PersistentVolume | None:
    """Return the volume that a claim gets on a node."""
    best: PersistentVolume | None = None
    for volume in sorted(volumes, key=lambda one: one.metadata.name):
        if volume.metadata.name in taken:
            continue
        reference = volume.spec.claim_ref
        mine = reference is not None and reference.name == claim.metadata.name
        if reference is not None and not mine:
            continue
        size = Quantity(volume.spec.capacity["storage"])
        if size < _size(claim):
            continue
        if mine:
            return volume if allows(volume, node) else None
        if volume.status.phase != "Available" or not allows(volume, node):
            continue
        if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
            continue
        if best is None or Quantity(best.spec.capacity["storage"]) > size:
            best = volume
    return best


def find(
    cluster: Cluster,
    bound: Sequence[PersistentVolumeClaim],
    delayed: Sequence[PersistentVolumeClaim],
    node: Node,
) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return the reasons against a node, or (claim, volume) pairs and the claims to provision."""
    reasons = []
    missing = False
    for claim in bound:
        volume = cluster.lister(PersistentVolume).get(claim.spec.volume_name)
        if volume is None:
            missing = True
            break
        if not allows(volume, node):
            reasons.append(NODE_CONFLICT)
            break
    conflict, enough, pairs, provisions = _find_unbound(cluster, delayed, node)
    if conflict:
        reasons.append(BIND_CONFLICT)
    if not enough:
        reasons.append(NOT_ENOUGH_SPACE)
    if missing:
        reasons.append(VOLUME_NOT_EXIST)
    return reasons, pairs, provisions


def _find_unbound(
    cluster: Cluster, delayed: Sequence[PersistentVolumeClaim], node: Node
) -> tuple[bool, bool, list[tuple[str, str]], list[str]]:
    to_make, to_match = [], []
    for claim in delayed:
        selected = claim.metadata.annotations.get(SELECTED_NODE)
        if selected is None:
            to_match.append(claim)
        elif selected != node.metadata.name:
            return True, True, [], []
        else:
            to_make.append(claim)
    taken: set[str] = set()
    pairs = []
    for claim in sorted(to_match, key=_size):
        same_class = [
            volume
            for volume in cluster.lister(PersistentVolume).list()
            if volume.spec.storage_class_name == claim.spec.storage_class_name
        ]
        volume = match(claim, same_class, node, taken)
        if volume is None:
            to_make.append(claim)
        else:
            taken.add(volume.metadata.name)
            pairs.append((claim.metadata.name, volume.metadata.name))
    for claim in to_make:
        storage_class = cluster.lister(StorageClass).get(claim.spec.storage_class_name)
        if storage_class.provisioner == "kubernetes.io/no-provisioner":
            return True, True, [], []
        if not _in_topology(storage_class, node):
            return True, True, [], []
        if not _has_space(cluster, storage_class, claim, node):
            return False, False, [], []
    return False, True, pairs, [claim.metadata.name for claim in to_make]


def _in_topology(storage_class: StorageClass, node: Node) -> bool:
    terms = storage_class.allowed_topologies
    return not terms or any(
        term.match_label_expressions
        and all(
            node.metadata.labels.get(one.key) in one.values for one in term.match_label_expressions
        )
        for term in terms
    )


def _has_space(
    cluster: Cluster, storage_class: StorageClass, claim: PersistentVolumeClaim, node: Node
) -> bool:
    driver: Any = cluster.lister(CSIDriver).get(storage_class.provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return True
    for found in cluster.lister(CSIStorageCapacity).list():
        limit = found.maximum_volume_size or found.capacity
        if (
            found.storage_class_name == storage_class.metadata.name
            and limit is not None
            and Quantity(limit) >= _size(claim)
            and found.node_topology is not None
            and found.node_topology.match_labels.items() <= node.metadata.labels.items()
        ):
            return True
    return False
