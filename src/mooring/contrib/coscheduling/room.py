"""The check whether the free resources of the whole cluster cover what a group needs.

It looks at sums, not at single nodes or pods, so a group that passes may still not fit.

# scheduler-plugins: pkg/coscheduling/core/core.go (CheckClusterResource)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from mooring import Nodes, Selector
from mooring.api import (
    POD_GROUP_LABEL,
    PodGroup,
    ResourceList,
    is_scalar_resource,
    milli_value,
    pod_group_key,
    value,
)
from mooring.api.labels import Requirement
from mooring.errors import ObjectError
from mooring.typing import Ints

_CPU = "cpu"
_PODS = "pods"
_NATIVE = frozenset({_CPU, _PODS, "memory", "ephemeral-storage"})


def resource_gap(
    nodes: Nodes,
    group: PodGroup,
    needed: Mapping[str, int],
    labels: Iterable[str] = (POD_GROUP_LABEL,),
) -> dict[str, int]:
    """Return what the cluster lacks of what a group needs, by resource; empty if there is enough.

    Members of the group that have a node already count as free. Cpu is in thousandths.
    """
    members = _members_by_row(nodes, group, labels)
    gap: dict[str, int] = {}
    for name, amount in needed.items():
        free = _free(nodes, name)
        for row, requests in members.items():
            free[row] += requests.get(name, 0)
        # Enough as soon as the nodes so far offer it: an overcommitted node further on does not
        # take it away again.
        most = int(np.cumsum(free).max(initial=0)) if len(free) else -1
        if most < amount:
            gap[name] = amount - max(most, 0)
    return gap


def needs(group: PodGroup) -> dict[str, int] | None:
    """Return what a group needs, with room for its pods; cpu in thousandths.

    None if an amount cannot be read.
    """
    wanted: ResourceList = group.spec.min_resources or {}
    try:
        amounts = {
            name: milli_value(text) if name == _CPU else value(text)
            for name, text in wanted.items()
        }
    except ObjectError:
        return None
    amounts[_PODS] = group.spec.min_member
    return amounts


def describe_gap(gap: Mapping[str, int]) -> str:
    """Return a gap as text, in the form in which the original prints its map."""
    amounts = (
        f"{name}:{amount}{'m' if name == _CPU else ''}" for name, amount in sorted(gap.items())
    )
    return f"resource gap: map[{' '.join(amounts)}]"


def _free(nodes: Nodes, name: str) -> Ints:
    """Return what each node has left of a resource, as an array that may be changed."""
    if name == _PODS:
        return nodes.allocatable(_PODS) - nodes.pod_count
    if name in _NATIVE:
        return nodes.free(name).copy()
    if not is_scalar_resource(name):
        return np.zeros(len(nodes), dtype=np.int64)
    free = nodes.free(name).copy()
    for row in np.flatnonzero(free < 0).tolist():
        if name not in nodes.info(row).allocatable:
            free[row] = 0
    return free


def _members_by_row(
    nodes: Nodes, group: PodGroup, labels: Iterable[str]
) -> dict[int, dict[str, int]]:
    """Return what the members of a group request on each node that has some."""
    namespace, name = group.metadata.namespace, group.metadata.name
    counts = np.zeros(len(nodes), dtype=np.int64)
    for label in labels:
        selector = Selector((Requirement(label, "In", (name,)),))
        counts += nodes.pods_matching(frozenset((namespace,)), selector)
    found: dict[int, dict[str, int]] = {}
    for row in np.flatnonzero(counts).tolist():
        node = nodes.info(row)
        requests: dict[str, int] = {}
        for info in node.pods.values():
            if pod_group_key(info.pod) == group.key:
                requests[_PODS] = requests.get(_PODS, 0) + 1
                for resource, amount in info.requests.items():
                    if resource in _NATIVE or resource in node.allocatable:
                        requests[resource] = requests.get(resource, 0) + amount
        found[row] = requests
    return found
