"""What the plugin remembers of each group between attempts.

# scheduler-plugins: pkg/coscheduling/core/core.go (PodGroupManager)
"""

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Pod, pod_group_key

#: So many failures of a group within a second are too many.
FREQUENT = 16

#: Seconds for which a passed check of resources counts if the configured wait is 0.
_SHORTEST_PERMISSION = 3.0


class Assignments:
    """The assigned and waiting members of each group, by the group's key. Owned by the plugin."""

    def __init__(self) -> None:
        #: Names of the members that have a node, bound or not.
        self._assigned: dict[str, set[str]] = {}
        #: Uids of the members that may wait at Permit.
        self._waiting: dict[str, dict[str, None]] = {}
        #: Members that lost their node and have not got another, by name.
        self._rejected: dict[str, dict[str, Pod]] = {}
        #: Uids of the members that were given up and whose Unreserve has not run yet.
        self._given_up: set[str] = set()

    def count(self, key: str) -> int:
        """Return how many members of a group have a node."""
        return len(self._assigned.get(key, ()))

    def assign(self, pod: Pod) -> int:
        """Count a member that got a node; return how many have one."""
        names = self._assigned.setdefault(pod_group_key(pod), set())
        names.add(pod.metadata.name)
        self.forget(pod)
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

    def reject(self, pod: Pod) -> None:
        """Stop counting a member that lost its node and is still pending."""
        self.release(pod)
        self._rejected.setdefault(pod_group_key(pod), {})[pod.metadata.name] = pod

    def forget(self, pod: Pod) -> None:
        """Forget that a member lost its node: it is gone, or has another."""
        key = pod_group_key(pod)
        rejected = self._rejected.get(key)
        if rejected is not None:
            rejected.pop(pod.metadata.name, None)
            if not rejected:
                del self._rejected[key]

    def take_rejected(self, key: str) -> Iterable[Pod]:
        """Return the members that lost their nodes, and forget them."""
        return self._rejected.pop(key, {}).values()

    def give_up(self, pod: Pod) -> None:
        """Stop counting a member that was rejected; its Unreserve comes later.

        Members of the group that find a node until then begin a new round: the old one must
        neither count for them nor take them along.
        """
        self.reject(pod)
        self._given_up.add(pod.metadata.uid)

    def was_given_up(self, pod: Pod) -> bool:
        """Return whether a member whose Unreserve runs was given up before, and forget it."""
        uid = pod.metadata.uid
        if uid not in self._given_up:
            return False
        self._given_up.remove(uid)
        return True

    def wait(self, pod: Pod) -> None:
        """Note that a member waits at Permit."""
        self._waiting.setdefault(pod_group_key(pod), {})[pod.metadata.uid] = None

    def take_waiting(self, key: str) -> Iterable[str]:
        """Return the uids of the members that may wait, and forget them.

        Each wait is ended once, so the members of a group cost as much as there are of them.
        """
        return self._waiting.pop(key, ())


class Failures:
    """When the attempts of groups failed. Owned by the plugin."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        #: When the present second of each group began, and the failures in it.
        self._counts: dict[str, tuple[float, int]] = {}

    def add(self, key: str, now: float) -> None:
        """Note that a group failed."""
        self._last[key] = now
        since, count = self._counts.get(key, (now, 0))
        self._counts[key] = (since, count + 1) if now - since <= 1.0 else (now, 1)

    def last(self, key: str) -> float | None:
        """Return when a group failed last; None if it has not failed since it last started."""
        return self._last.get(key)

    def is_frequent(self, key: str, now: float) -> bool:
        """Return whether a group fails again and again without a pause.

        A member that is rejected frees room, which wakes up the members that did not fit: a group
        for which there is room for a part only would be tried in a loop.
        """
        since, count = self._counts.get(key, (now, 0))
        return count >= FREQUENT and now - since <= 1.0

    def delete(self, key: str) -> None:
        """Forget the failures of a group."""
        self._last.pop(key, None)
        self._counts.pop(key, None)


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
