"""AppGroups as NetworkOverhead and TopologicalSort read them."""

# scheduler-plugins: pkg/networkaware/util/util.go

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from mooring.api import Pod
from mooring.api.app_group import APP_GROUP_LABEL, WORKLOAD_LABEL, AppGroup
from mooring.framework.listers import Lister

T = TypeVar("T")
N = TypeVar("N")


def app_group_name(pod: Pod) -> str:
    """Return the name of the AppGroup that a pod's label names; "" if it names none."""
    return pod.metadata.labels.get(APP_GROUP_LABEL, "")


def workload_of(pod: Pod) -> str:
    """Return the workload within the AppGroup that a pod's label names."""
    return pod.metadata.labels.get(WORKLOAD_LABEL, "")


def find_in(lister: Lister[N], namespaces: Iterable[str], name: str) -> N | None:
    """Return the first object of this name in some namespaces, in their order."""
    for namespace in namespaces:
        found = lister.get(name, namespace)
        if found is not None:
            return found
    return None


def search(entries: Sequence[T], key: Callable[[T], str], wanted: str) -> T | None:
    """Find an entry by binary search, which misses entries of a list that is not sorted."""
    low, high = 0, len(entries) - 1
    while low <= high:
        middle = (low + high) // 2
        found = key(entries[middle])
        if found == wanted:
            return entries[middle]
        if found < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return None


def topology_index(group: AppGroup, workload: str) -> int:
    """Return the place of a workload in the order of its group; -1 if it is not found there."""
    found = search(group.status.topology_order, lambda one: one.workload.selector, workload)
    return -1 if found is None else found.index
