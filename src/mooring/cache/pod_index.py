"""PodIndex: pods by namespace and label, so that a new counter is filled without scanning all
pods."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from mooring.api.labels import IN, Selector
from mooring.framework.pod_info import PodInfo

K = TypeVar("K", bound=Hashable)

_Pods = dict[str, PodInfo]


class PodIndex:
    """An index of the pods on nodes by what a selector requires. Owned by the cache."""

    def __init__(self) -> None:
        self._by_namespace: dict[str, _Pods] = {}
        self._by_label: dict[tuple[str, str, str], _Pods] = {}

    def add(self, info: PodInfo) -> None:
        """Add a pod."""
        meta = info.pod.metadata
        self._by_namespace.setdefault(meta.namespace, {})[info.uid] = info
        for key, value in meta.labels.items():
            self._by_label.setdefault((meta.namespace, key, value), {})[info.uid] = info

    def remove(self, info: PodInfo) -> None:
        """Remove a pod."""
        meta = info.pod.metadata
        _discard(self._by_namespace, meta.namespace, info.uid)
        for key, value in meta.labels.items():
            _discard(self._by_label, (meta.namespace, key, value), info.uid)

    def relabel(self, info: PodInfo, before: Mapping[str, str]) -> None:
        """Take note that a pod has other labels than before."""
        meta = info.pod.metadata
        now, namespace = meta.labels, meta.namespace
        for key, value in before.items():
            if now.get(key) != value:
                _discard(self._by_label, (namespace, key, value), info.uid)
        for key, value in now.items():
            if before.get(key) != value:
                self._by_label.setdefault((namespace, key, value), {})[info.uid] = info

    def matching(self, namespaces: frozenset[str] | None, selector: Selector) -> Iterable[PodInfo]:
        """Yield the pods that a selector matches in some namespaces (None: in all)."""
        if selector.nothing:
            return
        spaces = self._by_namespace.keys() if namespaces is None else namespaces
        for namespace in spaces:
            for candidates in self._narrowest(namespace, selector):
                for info in candidates.values():
                    if selector.matches(info.pod.metadata.labels):
                        yield info

    def _narrowest(self, namespace: str, selector: Selector) -> Iterable[_Pods]:
        """Return the smallest disjoint groups of pods that contain every match."""
        everything = self._by_namespace.get(namespace)
        if everything is None:
            return ()
        best: list[_Pods] = [everything]
        fewest = len(everything)
        looked = 0
        for requirement in selector.requirements:
            if requirement.operator != IN:
                continue
            looked += len(requirement.values)
            if looked > fewest:
                # Checking these few pods costs no more than looking further.
                break
            groups = [
                group
                for value in requirement.values
                if (group := self._by_label.get((namespace, requirement.key, value)))
            ]
            size = sum(map(len, groups))
            if size < fewest:
                best, fewest = groups, size
        return best


def _discard(groups: dict[K, _Pods], key: K, uid: str) -> None:
    group = groups[key]
    del group[uid]
    if not group:
        del groups[key]
