"""InFlight: the pods that are being scheduled, and the events that arrive meanwhile.

An event that arrives while a pod is being scheduled may remove the reason why the pod is about to
be refused. So events are kept while any pod is in flight, and a pod that returns to the queue is
checked against those that arrived after it was popped.

# kube-scheduler: backend/queue/active_queue.go
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from itertools import islice
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
        self._events: deque[Happened] = deque()
        #: The number of the first event that is still kept; events are numbered as they arrive.
        self._first = 0
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
        return len(self._events)

    def start(self, pod: Pod) -> None:
        """Record that scheduling of a pod begins."""
        self._pods[pod.metadata.uid] = (self._first + len(self._events), pod)
        self._track(POD_POPPED, 1)

    def note(self, event: ClusterEvent, old: Any, new: Any) -> bool:
        """Keep an event if any pod is in flight, and return whether it was kept."""
        if not self._pods:
            return False
        self._events.append((event, old, new))
        self._track(event.label, 1)
        return True

    def since(self, uid: str) -> Iterable[Happened]:
        """Return the events that arrived since a pod in flight was popped."""
        return islice(self._events, self._pods[uid][0] - self._first, None)

    def done(self, uid: str) -> None:
        """Record that a pod is no longer in flight, and drop the events only it needed."""
        if self._pods.pop(uid, None) is None:
            return
        self._track(POD_POPPED, -1)
        # Pods are kept in the order they were popped, so the first one needs the most events.
        needed = next(iter(self._pods.values()), (self._first + len(self._events),))[0]
        while self._first < needed:
            event, _, _ = self._events.popleft()
            self._first += 1
            self._track(event.label, -1)

    def validate(self) -> None:
        """Check that every event that is kept is needed by a pod."""
        starts = [start for start, _ in self._pods.values()]
        assert starts == sorted(starts)
        if starts:
            assert starts[0] == self._first, "events are kept for nobody"
        else:
            assert not self._events, "events are kept for nobody"

    def _track(self, label: str, change: int) -> None:
        tracked = self._tracked
        if self._metrics is not None and label not in tracked:
            gauge = self._metrics.inflight_events[label]
            gauge.set_function(lambda: tracked[label])
        tracked[label] += change
