"""Checkpoint: the state of a scheduler at one moment, from which a reader can begin.

API objects are immutable, so a checkpoint is a list of references that is made between two cycles.
The thread that writes it encodes them later, slice by slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from mooring.api import FinishedPod, KubeObject, Pod
from mooring.explain.journal.entries import (
    FINISHED_PODS,
    CheckpointBegins,
    CheckpointObject,
    CheckpointPlacement,
)
from mooring.explain.journal.omission import encode_object
from mooring.scheduler.running_scheduler import RunningScheduler


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

    def entries(self) -> Iterator[CheckpointObject | CheckpointPlacement]:
        """Yield the entries between the beginning and the end of the checkpoint."""
        time = self.begins.time
        for kind, objects in self.stores:
            for obj in objects:
                named = FINISHED_PODS if isinstance(obj, FinishedPod) else kind
                yield CheckpointObject(time, named, encode_object(obj))
        for pod in self.placed:
            uid, node = pod.metadata.uid, pod.spec.node_name
            if uid not in self.assumed:
                yield CheckpointPlacement(time, uid, node)
                continue
            since, waits = self.waits.get(uid, (0.0, {}))
            yield CheckpointPlacement(time, uid, node, encode_object(pod), since, waits)


def take_checkpoint(running: RunningScheduler, now: float) -> Checkpoint:
    """Return the state of a scheduler; call it between two cycles, with nothing in the inbox."""
    scheduler = running.scheduler
    cache, nominator = scheduler.cache, scheduler.nominator
    begins = CheckpointBegins(
        now,
        scheduler.cycle.search.next_start_node_index,
        scheduler.random.state,
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
    )
