"""The pods on each host and their system calls, as columns.

A node scores |H - P| + the sum of |(H | P) - S| over its pods, where H are the calls of the host's
pods together, P those of the new pod and S those of one pod on the host. S is part of H, so that
equals |H| - x + n (|H| + |P| - x) - sum of |S|, where x is |H & P| and n the number of pods: with a
few columns, only x depends on the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from mooring.api import Pod
from mooring.contrib.sysched.syscalls import Syscalls
from mooring.typing import Ints

#: Different sets of a new pod's calls whose scores are kept.
_KEPT = 64


class Hosts:
    """The pods of each host. Owned by the plugin."""

    def __init__(self, syscalls_of: Callable[[Pod], Syscalls]) -> None:
        self._syscalls_of = syscalls_of
        #: Pods of a host by name: namespaces do not count.
        self._pods: dict[str, dict[str, Pod]] = {}
        self._slots: dict[str, int] = {}
        self._together: list[Syscalls] = []
        #: |H|, n, and the sum of |S|.
        self._size: Ints = np.zeros(0, dtype=np.int64)
        self._count: Ints = np.zeros(0, dtype=np.int64)
        self._sum: Ints = np.zeros(0, dtype=np.int64)
        #: The scores by the new pod's calls.
        self._scores: dict[Syscalls, Ints] = {}

    def slot(self, host: str) -> int:
        """Return the place of a host in the columns; it is added if it is new."""
        slot = self._slots.get(host)
        if slot is None:
            slot = self._slots[host] = len(self._together)
            self._together.append(0)
            if slot >= len(self._size):
                self._grow(max(64, 2 * slot))
        return slot

    def slots(self, hosts: Iterable[str]) -> Ints:
        """Return the places of some hosts."""
        return np.array([self.slot(host) for host in hosts], dtype=np.int64)

    def _grow(self, capacity: int) -> None:
        grown = np.zeros((3, capacity), dtype=np.int64)
        grown[:, : len(self._size)] = self._size, self._count, self._sum
        self._size, self._count, self._sum = grown
        self._scores.clear()

    def add(self, pod: Pod) -> None:
        """Count a pod on its host, unless one of the same name is there."""
        pods = self._pods.setdefault(pod.spec.node_name, {})
        if pod.metadata.name not in pods:
            pods[pod.metadata.name] = pod
            self._count_again(pod.spec.node_name)

    def remove(self, pod: Pod) -> None:
        """Remove the pod of this name from its host."""
        pods = self._pods.get(pod.spec.node_name, {})
        if pods.pop(pod.metadata.name, None) is not None:
            self._count_again(pod.spec.node_name)

    def count_all(self) -> None:
        """Count every host again: the calls of pods may have changed."""
        for host in self._pods:
            self._count_again(host)

    def _count_again(self, host: str) -> None:
        slot = self.slot(host)
        sets = [self._syscalls_of(pod) for pod in self._pods[host].values()]
        together = 0
        for one in sets:
            together |= one
        self._together[slot] = together
        self._size[slot] = together.bit_count()
        self._count[slot] = len(sets)
        self._sum[slot] = sum(one.bit_count() for one in sets)
        for syscalls, scores in self._scores.items():
            scores[slot] = self._score(syscalls, slot)

    def scores(self, syscalls: Syscalls) -> Ints:
        """Return by slot how many calls the pods of a host, or the new pod, can do without."""
        scores = self._scores.get(syscalls)
        if scores is None:
            if len(self._scores) >= _KEPT:
                self._scores.clear()
            scores = self._scores[syscalls] = np.zeros(len(self._size), dtype=np.int64)
            for slot in range(len(self._together)):
                scores[slot] = self._score(syscalls, slot)
        return scores

    def _score(self, syscalls: Syscalls, slot: int) -> int:
        # A host without pods has no calls, so it scores 0.
        needless = int(self._size[slot]) - (self._together[slot] & syscalls).bit_count()
        return (
            needless
            + int(self._count[slot]) * (needless + syscalls.bit_count())
            - int(self._sum[slot])
        )
