"""InFlight: the pods that are being scheduled, and the events that arrive meanwhile.

An event that arrives while a pod is being scheduled may remove the reason why the pod is about to
be refused. So events are kept while any pod is in flight, and a pod that returns to the queue is
checked against those that arrived after it was popped.

# kube-scheduler: backend/queue/active_queue.go
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent
from mooring.observe.metrics import POD_POPPED, Metrics

#: An event, and the object before and after it.
Happened = tuple[ClusterEvent, Any, Any]


class InFlight:
    """The pods between `pop` and `done`. Owned by the scheduling queue."""

    def __init__(self, metrics: Metrics | None = None) -> None:
        # An OrderedDict finds its first entry in constant time. A dict does not after many
        # deletions at its front.
        self._pods: OrderedDict[str, tuple[int, Pod]] = OrderedDict()
        #: The events, of which the first `_dropped` are no longer kept. A deque does not find its
        #: entries by number in constant time.
        self._events: list[Happened] = []
        self._dropped = 0
        #: The number of the first event that is still kept; events are numbered as they arrive.
        self._first = 0
        #: The numbers of the events that concern one pod only, by its uid.
        self._about: dict[str, deque[int]] = {}
        self._metrics = metrics
        #: The number of tracked pods and events by label, read by the metrics on each scrape.
        self._tracked: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __iter__(self) -> Iterator[Pod]:
        return (pod for _, pod in self._pods.values())

    @property
    def events_kept(self) -> int:
        """The number of events that are kept."""
        return len(self._events) - self._dropped

    @property
    def first(self) -> int:
        """The number of the first event that is kept."""
        return self._first

    @property
    def end(self) -> int:
        """The number that the next event gets."""
        return self._first + self.events_kept

    def start(self, pod: Pod) -> None:
        """Record that scheduling of a pod begins."""
        self._pods[pod.metadata.uid] = (self.end, pod)
        self._track(POD_POPPED, 1)

    def note(self, event: ClusterEvent, old: Any, new: Any) -> bool:
        """Keep an event if any pod is in flight, and return whether it was kept."""
        if not self._pods:
            return False
        if event.is_about_one(new):
            self._about.setdefault(new.metadata.uid, deque()).append(self.end)
        self._events.append((event, old, new))
        self._track(event.label, 1)
        return True

    def start_of(self, uid: str) -> int:
        """Return the number of the first event since a pod in flight was popped."""
        return self._pods[uid][0]

    def since(self, uid: str) -> Sequence[Happened]:
        """Return the events that arrived since a pod in flight was popped."""
        return self.between(self.start_of(uid), self.end)

    def between(self, begin: int, end: int) -> Sequence[Happened]:
        """Return the events from one number up to, not including, another."""
        offset = self._dropped - self._first
        return self._events[begin + offset : end + offset]

    def about(self, uid: str) -> Iterable[int]:
        """Return the numbers of the events since its pop that concern only this pod in flight."""
        start = self._pods[uid][0]
        return (number for number in self._about.get(uid, ()) if number >= start)

    def event(self, number: int) -> Happened:
        """Return an event that is kept."""
        return self._events[number - self._first + self._dropped]

    def done(self, uid: str) -> None:
        """Record that a pod is no longer in flight, and drop the events only it needed."""
        if self._pods.pop(uid, None) is None:
            return
        self._track(POD_POPPED, -1)
        # Pods are kept in the order they were popped, so the first one needs the most events.
        needed = next(iter(self._pods.values()), (self.end,))[0]
        while self._first < needed:
            event, _, new = self._events[self._dropped]
            self._dropped += 1
            if event.is_about_one(new):
                self._drop_about(new.metadata.uid)
            self._first += 1
            self._track(event.label, -1)
        if 2 * self._dropped >= len(self._events):
            del self._events[: self._dropped]
            self._dropped = 0

    def _drop_about(self, uid: str) -> None:
        numbers = self._about[uid]
        numbers.popleft()
        if not numbers:
            del self._about[uid]

    def validate(self) -> None:
        """Check that every event that is kept is needed by a pod."""
        starts = [start for start, _ in self._pods.values()]
        assert starts == sorted(starts)
        if starts:
            assert starts[0] == self._first, "events are kept for nobody"
        else:
            assert not self.events_kept, "events are kept for nobody"
        about: dict[str, list[int]] = {}
        for number, (event, _, new) in enumerate(self.between(self._first, self.end), self._first):
            if event.is_about_one(new):
                about.setdefault(new.metadata.uid, []).append(number)
        assert about == {uid: list(numbers) for uid, numbers in self._about.items()}

    def _track(self, label: str, change: int) -> None:
        tracked = self._tracked
        if self._metrics is not None and label not in tracked:
            gauge = self._metrics.inflight_events[label]
            gauge.set_function(lambda: tracked[label])
        tracked[label] += change
