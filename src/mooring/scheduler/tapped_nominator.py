"""TappedNominator: the nominations as plugins see them, if taps listen.

A preemption ends the nominations of other pods beside the scheduling loop, at a moment that nothing
else shows.
"""

from __future__ import annotations

from mooring.api import Pod
from mooring.queue.nominator import PodNominator
from mooring.scheduler.taps import Taps


class TappedNominator:
    """A nominator (`framework.handle.Nominator`) that tells the taps what plugins change."""

    def __init__(self, nominator: PodNominator, taps: Taps) -> None:
        self._nominator = nominator
        self._taps = taps
        self.nominated_on = nominator.nominated_on
        self.nodes = nominator.nodes
        self.node_of = nominator.node_of
        self.changed_since = nominator.changed_since

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._nominator.version

    def add(self, pod: Pod, node_name: str = "") -> None:
        """Nominate a pod to a node, by default the one that its status names."""
        self._nominator.add(pod, node_name)
        uid = pod.metadata.uid
        self._taps.nominated(uid, self._nominator.node_of(uid))

    def delete(self, uid: str) -> None:
        """Drop a pod's nomination, if it has one."""
        if self._nominator.node_of(uid):
            self._nominator.delete(uid)
            self._taps.nominated(uid, "")
