"""Nodes like an existing one, with what belongs to them, and cordoned nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from mooring.api import (
    CSINode,
    KubeObject,
    Node,
    ObjectMeta,
    Pod,
    ResourceSlice,
    Taint,
)
from mooring.virtual.memory_cluster import MemoryCluster

HOSTNAME = "kubernetes.io/hostname"
#: The taints with this prefix say in which state a node is, not what kind of node it is.
_STATE = "node.kubernetes.io/"
#: What a controller adds to a cordoned node.
_CORDONED = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


def cordoned(node: Node) -> Node:
    """Return a node as it is after `kubectl cordon`."""
    spec = node.spec
    taints = spec.taints
    if all(taint.key != _CORDONED.key for taint in taints):
        taints = (*taints, _CORDONED)
    return replace(node, spec=replace(spec, unschedulable=True, taints=taints))


def copies_of(
    node: Node, count: int, pods: Sequence[Pod], cluster: MemoryCluster
) -> Iterator[KubeObject]:
    """Yield new nodes like `node`, each with its own copy of `pods`, drivers and devices."""
    like = node.metadata.name
    drivers = cluster.store(CSINode).get(like)
    slices = [one for one in cluster.store(ResourceSlice) if one.spec.node_name == like]
    number = 0
    for _ in range(count):
        number += 1
        while cluster.nodes.get(f"{like}-copy-{number}") is not None:
            number += 1
        name = f"{like}-copy-{number}"
        yield _copy(node, name)
        if drivers is not None:
            yield replace(drivers, metadata=_renamed(drivers.metadata, name))
        for one in slices:
            spec = replace(one.spec, node_name=name, pool=replace(one.spec.pool, name=name))
            metadata = _renamed(one.metadata, f"{name}-{one.metadata.name}")
            yield replace(one, metadata=metadata, spec=spec)
        for pod in pods:
            metadata = _renamed(pod.metadata, f"{pod.metadata.name}-{name}")
            yield replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=name))


def _copy(node: Node, name: str) -> Node:
    metadata = _renamed(node.metadata, name)
    labels = metadata.labels
    if HOSTNAME in labels:
        metadata = replace(metadata, labels={**labels, HOSTNAME: name})
    kept = tuple(taint for taint in node.spec.taints if not taint.key.startswith(_STATE))
    spec = replace(node.spec, taints=kept, unschedulable=False, provider_id="")
    status = replace(node.status, addresses=(), volumes_in_use=(), volumes_attached=())
    return replace(node, metadata=metadata, spec=spec, status=status)


def _renamed(metadata: ObjectMeta, name: str) -> ObjectMeta:
    return replace(metadata, name=name, uid=f"{metadata.uid}/{name}")
