"""UnschedulablePods: pods that wait for a cluster event.

They are indexed by the plugins that refused them, so that an event is checked only for the pods it
may concern: fifty thousand pods that found no cpu cost nothing when a volume appears.

# kube-scheduler: backend/queue/unschedulable_pods.go
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from mooring.queue.queued_pod_info import Filed, QueuedPodInfo


class UnschedulablePods:
    """The pods that are gated or were refused. Owned by the scheduling queue."""

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPodInfo] = {}
        self._by_plugin: dict[tuple[str, str], dict[str, QueuedPodInfo]] = {}
        #: The number of gated pods.
        self.gated = 0
        #: A lower bound: every pod has been waiting here since this time or later.
        self._oldest = math.inf

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPodInfo]:
        return iter(self._pods.values())

    def add(self, info: QueuedPodInfo) -> None:
        """Add a pod, or index it again if its plugins have changed."""
        if info.key in self._pods:
            self.remove(info)
        self._pods[info.key] = info
        self.gated += info.is_gated
        # Only its gating plugin can release a gated pod, so it is indexed under no other plugin.
        plugins = (info.gating_plugin,) if info.is_gated else tuple(info.rejectors) or ("",)
        info.filed = Filed(info.profile, plugins, info.is_gated)
        for plugin in plugins:
            self._by_plugin.setdefault((info.profile, plugin), {})[info.key] = info
        self._oldest = min(self._oldest, waiting_since(info))

    def remove(self, info: QueuedPodInfo) -> None:
        """Remove a pod that is in here."""
        filed = info.filed
        assert filed is not None, f"{info} is not here"
        del self._pods[info.key]
        self.gated -= filed.gated
        for plugin in filed.plugins:
            pods = self._by_plugin[filed.profile, plugin]
            del pods[info.key]
            if not pods:
                del self._by_plugin[filed.profile, plugin]
        info.filed = None

    def refused_by(
        self,
        profile: str,
        plugins: Iterable[str],
        named: Mapping[str, Iterable[str]] = MappingProxyType({}),
    ) -> list[QueuedPodInfo]:
        """Return the pods of a profile that one of these plugins refused or gates.

        Of a plugin in `named`, only the entries of the queue with these keys count.
        """
        groups = [
            {key: group[key] for key in named[plugin] if key in group} if plugin in named else group
            for plugin in plugins
            if (group := self._by_plugin.get((profile, plugin))) is not None
        ]
        if len(groups) == 1:
            return list(groups[0].values())
        found: dict[str, QueuedPodInfo] = {}
        for group in groups:
            found.update(group)
        return list(found.values())

    def refusers(self, profile: str) -> list[str]:
        """Return the names of the plugins that refused pods of a profile."""
        return [plugin for name, plugin in self._by_plugin if name == profile]

    @property
    def oldest(self) -> float:
        """A lower bound for when the longest wait began; infinity if there are no pods."""
        return self._oldest if self._pods else math.inf

    def older_than(self, moment: float) -> list[QueuedPodInfo]:
        """Return the pods that have been waiting here since before a moment."""
        self._oldest = min(map(waiting_since, self), default=math.inf)
        return [info for info in self if waiting_since(info) < moment]

    def validate(self) -> None:
        """Check that the index contains exactly the pods in here."""
        for key, info in self._pods.items():
            assert info.key == key
            filed = info.filed
            assert filed is not None, f"{info} cannot be found"
            expected = {info.gating_plugin} if info.is_gated else info.rejectors or {""}
            assert set(filed.plugins) == expected, f"{info} is filed under {filed.plugins}"
            assert filed.gated == info.is_gated
            for plugin in filed.plugins:
                assert self._by_plugin[filed.profile, plugin][key] is info
            assert waiting_since(info) >= self.oldest
        entries = sum(len(info.filed.plugins) for info in self if info.filed is not None)
        assert entries == sum(map(len, self._by_plugin.values())), "the index holds strangers"
        assert self.gated == sum(info.is_gated for info in self)


def waiting_since(info: QueuedPodInfo) -> float:
    """Return when a pod became unschedulable, or was last tried only because of a timeout."""
    return max(info.timestamp, info.flush_timestamp)
