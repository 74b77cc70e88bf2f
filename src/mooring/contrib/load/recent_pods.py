"""RecentPods: pods that were bound so recently that measurements do not show them yet."""

# scheduler-plugins: pkg/trimaran/handler.go

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mooring import Nodes
from mooring.api import Pod
from mooring.contrib.score_ranges import wrapped
from mooring.observe.clock import Clock
from mooring.typing import Ints

#: Measurements of a pod that was bound up to so many seconds before they end are not complete.
REPORTING_SECONDS = 60


class RecentPods:
    """The pods of each node, when they were seen bound, and what they are expected to use.

    Owned by the plugin that made it.
    """

    def __init__(self, use_of: Callable[[Pod], int], clock: Clock) -> None:
        self._use_of = use_of
        self._clock = clock
        #: By node and uid: the time in whole seconds, and the expected use.
        self._bound: dict[str, dict[str, tuple[int, int]]] = {}
        self._sums: Ints = np.zeros(0, dtype=np.int64)
        self._sums_at: tuple[int, int] | None = None
        #: Nodes whose pods have changed since the sums were made.
        self._changed: set[str] = set()
        #: Rows of the sums that have changed, in order, since all of them were made.
        self.log: list[int] = []

    def added(self, pod: Pod) -> None:
        """Note a pod that is bound."""
        node = pod.spec.node_name
        if node:
            seen = int(self._clock.wall_time()), self._use_of(pod)
            self._bound.setdefault(node, {})[pod.metadata.uid] = seen
            self._changed.add(node)

    def updated(self, old: Pod, new: Pod) -> None:
        """Note a pod that has just been bound."""
        if old.spec.node_name != new.spec.node_name:
            self.added(new)

    def deleted(self, pod: Pod) -> None:
        """Forget a pod."""
        node = pod.spec.node_name
        pods = self._bound.get(node)
        if pods is not None and pods.pop(pod.metadata.uid, None) is not None:
            self._changed.add(node)
            if not pods:
                del self._bound[node]

    def sums(self, end: int, nodes: Nodes) -> Ints:
        """Return, for every node of the snapshot, the expected use of the pods that measurements
        up to `end` do not show."""
        at = (end, nodes.node_generation)
        if self._sums_at != at:
            self._forget_before(end)
            self._sums = np.zeros(len(nodes.all), dtype=np.int64)
            self._sums_at = at
            self._changed = set(self._bound)
            self.log.clear()
        if self._changed:
            for node in self._changed:
                row = nodes.row(node)
                if row >= 0:
                    self._sums[row] = self._sum(node, end)
                    self.log.append(row)
            self._changed.clear()
        return self._sums

    def _sum(self, node: str, end: int) -> int:
        shown = end - REPORTING_SECONDS
        pods = self._bound.get(node, {}).values()
        return wrapped(sum(use for seen, use in pods if seen > shown))

    def _forget_before(self, end: int) -> None:
        """Forget pods that measurements show; later ones show them too."""
        shown = end - REPORTING_SECONDS
        for node, pods in list(self._bound.items()):
            kept = {uid: one for uid, one in pods.items() if one[0] > shown}
            if kept:
                self._bound[node] = kept
            else:
                del self._bound[node]
