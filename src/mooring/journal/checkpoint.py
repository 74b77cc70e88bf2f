"""Checkpoint: the state of a scheduler at one moment, from which a reader can begin.

API objects are immutable, so a checkpoint is a list of references that is made between two cycles.
The thread that writes it encodes them later, slice by slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

import msgspec

from mooring.api import FinishedPod, KubeObject, Pod
from mooring.journal.entries import (
    FINISHED_PODS,
    CheckpointBegins,
    CheckpointObject,
    CheckpointPlacement,
    CheckpointWork,
)
from mooring.journal.omission import encode_object
from mooring.journal.work_runs import WorkRun
from mooring.observe.attempt_random import state_of
from mooring.scheduler.running_scheduler import RunningScheduler

#: For how many seconds the time at which a pod was seen with its node is kept. Plugins that score
#: by measured load need it for up to 360 s: measurements may be 300 s old and lack the last 60 s.
RECENT = 600.0
#: Seconds between two removals of older times.
_FORGET_EVERY = 10.0


class Checkpoint(msgspec.Struct, frozen=True):
    """References to everything that a checkpoint writes."""

    begins: CheckpointBegins
    #: The objects of each informer, by "plural.version.group".
    stores: Sequence[tuple[str, Sequence[KubeObject]]]
    #: The pods with a node, in the order of the cache.
    placed: Sequence[Pod]
    assumed: frozenset[str]
    #: By uid: when the wait at Permit began, and for how many seconds each plugin waits.
    waits: Mapping[str, tuple[float, dict[str, float]]]
    #: The last runs of plugins' periodic work.
    works: Sequence[WorkRun] = ()
    #: By uid: when pods were seen with their node, within the last minutes. All other pods were
    #: seen before `seen_before`.
    seen: Mapping[str, float] = {}
    seen_before: float = 0.0

    @property
    def is_empty(self) -> bool:
        """Return whether there are no objects."""
        return not any(objects for _, objects in self.stores)

    def entries(self) -> Iterator[CheckpointObject | CheckpointWork | CheckpointPlacement]:
        """Yield the entries between the beginning and the end of the checkpoint."""
        time = self.begins.time
        for run in self.works:
            yield run.entry()
        for kind, objects in self.stores:
            for obj in objects:
                named = FINISHED_PODS if isinstance(obj, FinishedPod) else kind
                yield CheckpointObject(time, named, encode_object(obj, kind))
        for pod in self.placed:
            uid, node = pod.metadata.uid, pod.spec.node_name
            if uid not in self.assumed:
                seen = self.seen.get(uid, self.seen_before)
                yield CheckpointPlacement(time, uid, node, seen=seen)
                continue
            since, waits = self.waits.get(uid, (0.0, {}))
            yield CheckpointPlacement(time, uid, node, encode_object(pod), since, waits)


class RecentPlacements:
    """The times at which pods were seen with their node. Owned by the scheduling loop.

    Plugins need the times of recent pods, which measurements do not show yet.
    """

    def __init__(self, begin: float) -> None:
        """Start at the time `begin`, at which all existing pods count as seen."""
        self._begin = begin
        #: By uid, the oldest first.
        self._seen: dict[str, float] = {}
        self._forgets_at = begin + _FORGET_EVERY

    def add(self, now: float, uid: str) -> None:
        """Add a pod that has just got a node."""
        self._seen.pop(uid, None)
        self._seen[uid] = now
        if now >= self._forgets_at:
            self._forgets_at = now + _FORGET_EVERY
            self._forget(now)

    def last(self, now: float) -> tuple[Mapping[str, float], float]:
        """Return the recent times by uid, and the time before which other pods were seen."""
        self._forget(now)
        return dict(self._seen), max(self._begin, now - RECENT)

    def _forget(self, now: float) -> None:
        seen = self._seen
        for uid in list(takewhile(lambda uid: seen[uid] < now - RECENT, seen)):
            del seen[uid]


def take_checkpoint(
    running: RunningScheduler,
    now: float,
    works: Sequence[WorkRun] = (),
    placements: RecentPlacements | None = None,
) -> Checkpoint:
    """Return the state of a scheduler; call it between two cycles, with nothing in the inbox."""
    scheduler = running.scheduler
    seen, seen_before = ({}, 0.0) if placements is None else placements.last(now)
    cache, nominator = scheduler.cache, scheduler.nominator
    begins = CheckpointBegins(
        now,
        scheduler.cycle.search.next_start_node_index,
        state_of(scheduler.random),
        tuple(cache.nodes.names),
        tuple(tuple(names) for names in cache.node_zones()),
        tuple(
            (info.uid, node) for node in nominator.nodes() for info in nominator.nominated_on(node)
        ),
    )
    return Checkpoint(
        begins,
        [(informer.name, list(informer.store)) for informer in running.informers],
        [info.pod for info in cache.pods],
        frozenset(cache.assumed),
        {
            wait.pod.metadata.uid: (wait.since, dict(wait.waits))
            for wait in scheduler.on_the_way.waiting()
            if wait.outcome is None
        },
        works,
        seen,
        seen_before,
    )
