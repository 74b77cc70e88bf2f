"""The pods that exist of each group, counted as they come and go.

A gang of hundreds is looked at once per member, so counting its pods each time would cost the
square of its size.
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Pod, pod_group_key


class GroupMembers:
    """The members of one group, by name."""

    __slots__ = ("gated", "pods")

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        #: How many of them have scheduling gates.
        self.gated = 0


class Members:
    """The pods of every group that are not finished. Owned by the plugin."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupMembers] = {}

    def add(self, pod: Pod) -> None:
        """Count a pod; one without a group is ignored."""
        key = pod_group_key(pod)
        if key:
            group = self._groups.setdefault(key, GroupMembers())
            group.pods[pod.metadata.name] = pod
            group.gated += bool(pod.spec.scheduling_gates)

    def remove(self, pod: Pod) -> None:
        """Stop counting a pod."""
        key = pod_group_key(pod)
        group = self._groups.get(key)
        known = None if group is None else group.pods.pop(pod.metadata.name, None)
        if group is None or known is None:
            return
        group.gated -= bool(known.spec.scheduling_gates)
        if not group.pods:
            del self._groups[key]

    def update(self, old: Pod, new: Pod) -> None:
        """Count a changed pod: its group and its gates may be others."""
        self.remove(old)
        self.add(new)

    def count(self, key: str) -> tuple[int, int]:
        """Return how many pods a group has, and how many of them are gated."""
        group = self._groups.get(key)
        return (0, 0) if group is None else (len(group.pods), group.gated)

    def of(self, key: str) -> Iterable[Pod]:
        """Return the pods of a group."""
        group = self._groups.get(key)
        return () if group is None else group.pods.values()
