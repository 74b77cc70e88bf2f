"""Witness: a plugin for soaks, which records what a scheduler knew when it chose a node."""

from __future__ import annotations

import msgspec

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from tests.support.virtual_loop import current_process


class Belief(msgspec.Struct, frozen=True):
    """What a scheduler knew when it chose a node for a pod."""

    #: The uids of the pods on that node.
    there: frozenset[str] = frozenset()
    #: Whether the pod was known to have a node.
    bound: bool = False


class Witness(Plugin):
    """The plugin that records a `Belief` in the process for every pod it places, by uid."""

    name = "Witness"

    def events_to_register(self) -> list[ClusterEvent]:
        """Return no events: no pod is ever refused."""
        return []

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Record which pods were known to be on the node."""
        process = current_process()
        if process is None:
            return None
        meta, pods = pod.metadata, self.handle.lister(Pod)
        there = (one for one in pods.list() if one.spec.node_name == node_name)
        known = pods.get(meta.name, meta.namespace)
        process.notes[meta.uid] = Belief(
            frozenset(one.metadata.uid for one in there),
            known is not None and known.metadata.uid == meta.uid and bool(known.spec.node_name),
        )
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Keep the record: a bind may be in transit."""
