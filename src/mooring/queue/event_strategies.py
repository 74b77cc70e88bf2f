"""Whether events queue a refused pod, now or when it returns from its attempt.

While ten thousand members of a gang wait at Permit, all of them are in flight. If the gang fails,
each returns, and each gives up a node, which is an event for all others. Checking every one against
every event would take the square of their number. So pods whose refusing plugins read the same key
of them (`ClusterEvent.hint_key`) share what the events that were checked for one of them gave.

# kube-scheduler: backend/queue/scheduling_queue.go (isPodWorthRequeuing,
# determineSchedulingHintForInFlightPod), which checks every event for every pod
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import Any

from mooring.framework.cluster_events import ClusterEvent
from mooring.observe.logs import log_error
from mooring.queue.in_flight import Happened, InFlight
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.queueing_hints import Hints, QueueingStrategy

log = logging.getLogger(__name__)

_NOT_IN_FLIGHT = (
    "in flight Pod isn't found in the scheduling queue. If you see this error log, "
    "it's likely a bug in the scheduler"
)


class CheckedEvents:
    """What a row of events means for pods with the same keys that the same plugins refused.

    Events are named by their numbers (`InFlight`).
    """

    __slots__ = ("begin", "end", "last", "others")

    def __init__(self, begin: int) -> None:
        #: The events from `begin` up to, not including, `end` have been checked.
        self.begin = begin
        self.end = begin
        #: The last event that queues the pods, by how it does so.
        self.last: dict[QueueingStrategy, int] = {}
        #: Events that have to be checked for each pod.
        self.others: deque[int] = deque()

    def best(self, begin: int) -> QueueingStrategy:
        """Return the most that an event from `begin` on does for the pods."""
        helpful = (strategy for strategy, number in self.last.items() if number >= begin)
        return max(helpful, default=QueueingStrategy.SKIP)


class Strategies:
    """The effects of events on refused pods. Owned by the scheduling queue."""

    def __init__(self, hints: Mapping[str, Hints], in_flight: InFlight) -> None:
        self._hints = hints
        self._no_hints = Hints({})
        self._in_flight = in_flight
        #: Ordered by the end of what was checked.
        self._checked: OrderedDict[Hashable, CheckedEvents] = OrderedDict()

    def key_of(self, info: QueuedPodInfo, plugin: str) -> Hashable:
        """Return the key that a pod shares with others; None if it shares one with no other."""
        if info.is_group or info.is_gated:
            return None
        return self._hints.get(info.profile, self._no_hints).key_of(plugin, info.pod)

    def of(self, info: QueuedPodInfo, event: ClusterEvent, old: Any, new: Any) -> QueueingStrategy:
        """Return whether and when an event queues a refused pod or pod group."""
        hints = self._hints.get(info.profile, self._no_hints)
        refused, pending = info.unschedulable_plugins, info.pending_plugins
        if not isinstance(info, QueuedPodGroupInfo):
            return hints.strategy(info.pod, refused, pending, event, old, new)
        # If the event may help one member, the group is tried again.
        best = QueueingStrategy.SKIP
        for member in info.concerned(event, new):
            best = max(best, hints.strategy(member.pod, refused, pending, event, old, new))
            if best is QueueingStrategy.IMMEDIATELY or (best and not pending):
                break
        return best

    def after_flight(self, info: QueuedPodInfo) -> QueueingStrategy:
        """Return whether and when the events since its pop queue a pod that was refused."""
        if not info.rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        uid, flight = info.pod.metadata.uid, self._in_flight
        if uid not in flight:
            log_error(log, _NOT_IN_FLIGHT, "Error getting cluster events for pod", pod=info.pod)
            return QueueingStrategy.AFTER_BACKOFF
        begin = flight.start_of(uid)
        checked = None if info.is_group else self._checked_for(info, begin)
        if checked is None:
            return self._best(info, flight.since(uid))
        numbers = chain((one for one in checked.others if one >= begin), flight.about(uid))
        best = checked.best(begin)
        if _suffices(best, info):
            return best
        return max(best, self._best(info, map(flight.event, numbers)))

    def _best(self, info: QueuedPodInfo, happened: Iterable[Happened]) -> QueueingStrategy:
        best = QueueingStrategy.SKIP
        for event, old, new in happened:
            best = max(best, self.of(info, event, old, new))
            if _suffices(best, info):
                break
        return best

    def _checked_for(self, info: QueuedPodInfo, begin: int) -> CheckedEvents | None:
        """Return what the events from `begin` on mean for pods like this one.

        None if checking them for this pod alone takes less.
        """
        flight = self._in_flight
        plugins = sorted(info.rejectors)
        keys = tuple(self.key_of(info, plugin) for plugin in plugins)
        kind = (info.profile, info.unschedulable_plugins, info.pending_plugins, keys)
        checked = self._checked.get(kind)
        if checked is None:
            checked = self._checked[kind] = CheckedEvents(begin)
        elif begin - checked.end > flight.end - begin:
            return None
        self._check(info, checked, checked.end, flight.end)
        checked.end = flight.end
        if begin < checked.begin:
            self._check(info, checked, begin, checked.begin)
            checked.begin = begin
        self._checked.move_to_end(kind)
        self._drop_unneeded(checked)
        return checked

    def _check(self, info: QueuedPodInfo, checked: CheckedEvents, begin: int, end: int) -> None:
        hints = self._hints.get(info.profile, self._no_hints)
        rejectors = info.rejectors
        others = []
        for number, (event, old, new) in enumerate(self._in_flight.between(begin, end), begin):
            if event.is_about_one(new):
                continue
            if not hints.concerns_alike(event, rejectors):
                others.append(number)
            elif strategy := self.of(info, event, old, new):
                checked.last[strategy] = max(number, checked.last.get(strategy, number))
        if begin < checked.begin:
            checked.others.extendleft(reversed(others))
        else:
            checked.others.extend(others)

    def _drop_unneeded(self, checked: CheckedEvents) -> None:
        """Drop what is known of events that no pod in flight needs."""
        first = self._in_flight.first
        while checked.others and checked.others[0] < first:
            checked.others.popleft()
        while next(iter(self._checked.values())).end < first:
            self._checked.popitem(last=False)


def _suffices(best: QueueingStrategy, info: QueuedPodInfo) -> bool:
    """Return whether no other event can do more."""
    return best is QueueingStrategy.IMMEDIATELY or bool(best and not info.pending_plugins)
