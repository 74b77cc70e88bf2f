"""What the plugin remembers of each group between attempts.

# scheduler-plugins: pkg/coscheduling/core/core.go (PodGroupManager)
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Pod, pod_group_key

#: Seconds for which a passed check of resources counts if the configured wait is 0.
_SHORTEST_PERMISSION = 3.0


class Assignments:
    """The assigned and waiting members of each group, by the group's key. Owned by the plugin."""

    def __init__(self) -> None:
        #: Names of the members that have a node, bound or not.
        self._assigned: dict[str, set[str]] = {}
        #: Uids of the members that may wait at Permit.
        self._waiting: dict[str, dict[str, None]] = {}

    def count(self, key: str) -> int:
        """Return how many members of a group have a node."""
        return len(self._assigned.get(key, ()))

    def assign(self, pod: Pod) -> int:
        """Count a member that got a node; return how many have one."""
        names = self._assigned.setdefault(pod_group_key(pod), set())
        names.add(pod.metadata.name)
        return len(names)

    def release(self, pod: Pod) -> None:
        """Stop counting a member that lost its node."""
        key = pod_group_key(pod)
        names = self._assigned.get(key)
        if names is not None:
            names.discard(pod.metadata.name)
            if not names:
                del self._assigned[key]
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.pop(pod.metadata.uid, None)
            if not waiting:
                del self._waiting[key]

    def wait(self, pod: Pod) -> None:
        """Note that a member waits at Permit."""
        self._waiting.setdefault(pod_group_key(pod), {})[pod.metadata.uid] = None

    def take_waiting(self, key: str) -> Iterable[str]:
        """Return the uids of the members that may wait, and forget them.

        Each wait is ended once, so the members of a group cost as much as there are of them.
        """
        return self._waiting.pop(key, ())


class Expirations:
    """Names that count for some time. Owned by the plugin."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def add(self, key: str, now: float, seconds: float) -> bool:
        """Let a name count for some seconds; False if it counts already, which is not extended."""
        self._drop_expired(now)
        if key in self._until:
            return False
        self._until[key] = now + (seconds or _SHORTEST_PERMISSION)
        return True

    def has(self, key: str, now: float) -> bool:
        """Return whether a name counts."""
        return self._until.get(key, now) > now

    def delete(self, key: str) -> None:
        """Let a name no longer count."""
        self._until.pop(key, None)

    def _drop_expired(self, now: float) -> None:
        self._until = {key: until for key, until in self._until.items() if until > now}
