"""Assumed pods that are not bound yet: waiting at Permit, or in PreBind.

Deadlines are data, so the same code runs under a virtual clock: the owner of the clock calls
`expire`.

# kube-scheduler: framework/runtime/waiting_pods_map.go, pods_in_prebind_map.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from mooring.api import Pod
from mooring.api.durations import Duration
from mooring.framework.handle import PreBindingPod, WaitingPod
from mooring.framework.status import Code, Status

_TIMEOUT = "rejected due to timeout after waiting {} at plugin {}"
_REMOVED = "removed"


class PermitWait:
    """A pod that waits at Permit until every plugin allows it, or one ends the wait."""

    def __init__(self, pod: Pod, waits: Mapping[str, float], now: float) -> None:
        self.pod = pod
        #: Success, or the reason why the pod was rejected; None while it waits.
        self.outcome: Status | None = None
        self._waits = dict(waits)
        self._since = now
        self._when_done: Callable[[], object] | None = None

    def when_done(self, call: Callable[[], object]) -> None:
        """Call `call()` when the wait ends; now if it has already ended."""
        self._when_done = call
        if self.outcome is not None:
            call()

    def pending_plugins(self) -> Sequence[str]:
        """Return the plugins that have not yet allowed the pod."""
        return tuple(self._waits)

    @property
    def waits(self) -> Mapping[str, float]:
        """The plugins that have not yet allowed the pod, with their timeouts in seconds."""
        return self._waits

    def allow(self, plugin: str) -> None:
        """Allow the pod for one plugin; the wait ends when the last plugin allows it."""
        self._waits.pop(plugin, None)
        if not self._waits:
            self._end(Status.success())

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod as unschedulable. Return False if it no longer waits."""
        return self._end(Status(Code.UNSCHEDULABLE, (message,), plugin=plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """End the wait for a preemptor: the pod is retried. Return False if it no longer waits."""
        return self._end(Status(Code.ERROR, (message,), plugin=plugin))

    @property
    def deadline(self) -> float:
        """The time of the first timeout among the plugins."""
        return self._since + min(self._waits.values())

    @property
    def since(self) -> float:
        """The time when the wait began."""
        return self._since

    def expire(self, now: float) -> None:
        """Reject the pod if the timeout of a plugin is over."""
        if self.outcome is None and now >= self.deadline:
            plugin = min(self._waits, key=self._waits.__getitem__)
            waited = Duration.from_seconds(self._waits[plugin])
            self.reject(plugin, _TIMEOUT.format(waited, plugin))

    def _end(self, outcome: Status) -> bool:
        if self.outcome is not None:
            return False
        self.outcome = outcome
        if self._when_done is not None:
            self._when_done()
        return True


class PreBinding:
    """A pod whose PreBind plugins run; its binding can be cancelled until they have finished."""

    def __init__(self, on_cancel: Callable[[str], object] | None = None) -> None:
        #: Why the binding was cancelled; "" if it was not.
        self.cancelled = ""
        self._over = False
        self._on_cancel = on_cancel

    def cancel(self, reason: str) -> bool:
        """Cancel the binding cycle; return False if PreBind is already over."""
        if self._over:
            return False
        self.cancelled = self.cancelled or reason
        if self._on_cancel is not None:
            self._on_cancel(reason)
        return True

    def finish(self) -> bool:
        """Record that PreBind is over; return False if the binding was cancelled before."""
        self._over = True
        return not self.cancelled


class BindingPods:
    """The pods that wait at Permit and those in PreBind, by uid."""

    def __init__(self) -> None:
        self._waiting: dict[str, PermitWait] = {}
        self._pre_binding: dict[str, PreBinding] = {}

    def add_waiting(self, wait: PermitWait) -> None:
        """Add a pod that begins to wait."""
        self._waiting[wait.pod.metadata.uid] = wait

    def remove_waiting(self, uid: str) -> None:
        """Remove a pod that no longer waits."""
        self._waiting.pop(uid, None)

    def waiting(self) -> Iterable[PermitWait]:
        """Return the pods that wait at Permit."""
        return tuple(self._waiting.values())

    def get(self, uid: str) -> WaitingPod | None:
        """Return a pod that waits at Permit, or None."""
        return self._waiting.get(uid)

    def waits(self) -> Iterable[PermitWait]:
        """Return the waits that have not ended."""
        return tuple(wait for wait in self._waiting.values() if wait.outcome is None)

    def wait_of(self, uid: str) -> PermitWait | None:
        """Return the wait of a pod; None if it has ended, or there is none."""
        wait = self._waiting.get(uid)
        return None if wait is None or wait.outcome is not None else wait

    def reject_removed(self, uid: str) -> bool:
        """Reject a waiting pod because it was deleted; return False if it does not wait."""
        wait = self._waiting.get(uid)
        return wait is not None and wait.reject("", _REMOVED)

    def next_deadline(self) -> float | None:
        """Return the time of the next timeout; None if no pod waits."""
        return min(
            (wait.deadline for wait in self._waiting.values() if not wait.outcome), default=None
        )

    def expire(self, now: float) -> None:
        """Reject every pod whose timeout is over."""
        for wait in tuple(self._waiting.values()):
            wait.expire(now)

    def add_pre_binding(
        self, uid: str, on_cancel: Callable[[str], object] | None = None
    ) -> PreBinding:
        """Record that a pod's PreBind begins; `on_cancel` gets the reason if it is cancelled."""
        found = self._pre_binding[uid] = PreBinding(on_cancel)
        return found

    def remove_pre_binding(self, uid: str) -> None:
        """Record that a pod's PreBind is over."""
        self._pre_binding.pop(uid, None)

    def pre_binding(self, uid: str) -> PreBindingPod | None:
        """Return a pod whose PreBind plugins run, or None."""
        return self._pre_binding.get(uid)
