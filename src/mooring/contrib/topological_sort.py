"""TopologicalSort: within an application, schedule what others depend on first."""

# scheduler-plugins: pkg/networkaware/topologicalsort/topologicalsort.go

from __future__ import annotations

import msgspec
from msgspec.structs import force_setattr

from mooring import Plugin, QueuedPod
from mooring.api import AppGroup, Pod, parse_time
from mooring.contrib.app_groups import app_group_name, find_in, topology_index, workload_of
from mooring.framework.listers import Lister

_INDEX = "TopologicalSort/app-group"

#: Priority of the pod or group, negated; time; AppGroup; index.
SortKey = tuple[int, float, str, int]


class TopologicalSort(Plugin):
    """The plugin that orders the pods of an AppGroup by its topology order.

    Choose it together with NetworkOverhead for applications whose workloads call one another: the
    workloads that others depend on are placed first, so that the others can be placed near them.

    Pods outside any AppGroup, and those whose AppGroup does not exist, are ordered by priority,
    then by the time at which they entered the queue. The pods of an AppGroup follow one another, in
    the order of their index, at the place that the group has among the others: by the highest
    priority of its pods, then by the time at which the AppGroup was created.
    """

    name = "TopologicalSort"

    class Args(msgspec.Struct, frozen=True, rename="camel"):
        """The namespaces in which AppGroups are looked up."""

        #: The namespaces whose AppGroups count.
        namespaces: tuple[str, ...] = ("default",)

        def __post_init__(self) -> None:
            if not self.namespaces:
                force_setattr(self, "namespaces", ("default",))

    def start(self) -> None:
        """Watch AppGroups, and find pods by their AppGroup."""
        self._groups: Lister[AppGroup] = self.handle.lister(AppGroup)
        self._pods: Lister[Pod] = self.handle.lister(Pod)
        self._pods.add_index(_INDEX, lambda pod: filter(None, [app_group_name(pod)]))

    def sort_key(self, queued: QueuedPod) -> SortKey:
        """Return the key by which the queue sorts, lowest first."""
        pod = queued.pod
        name = app_group_name(pod)
        group = find_in(self._groups, self.args.namespaces, name) if name else None
        if group is None:
            return -pod.priority, queued.timestamp, "", 0
        members = self._pods.by_index(_INDEX, name)
        priority = max((member.priority for member in members), default=0)
        created = group.metadata.creation_timestamp
        return (
            -priority,
            parse_time(created) if created else 0.0,
            name,
            topology_index(group, workload_of(pod)),
        )

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        """Return whether `a` goes before `b`."""
        return self.sort_key(a) < self.sort_key(b)
