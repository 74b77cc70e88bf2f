"""RecordedCheckpoint: the state of a scheduler at one moment, from which a replay begins.

What depends on history is restored in its recorded order: the rows of nodes, which decide among
equal nodes, the node tree, the pods of the cache, nominations. The states that plugins keep of pods
which were on their way to a node are not recorded: these pods are filtered again and reserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.api import Node, Pod
from mooring.journal.entries import (
    NOT_ASSUMED,
    AttemptBegins,
    CheckpointBegins,
    CheckpointObject,
    CheckpointPlacement,
    CheckpointWork,
)
from mooring.queue.nominator import PodNominator
from mooring.replay.engine import ReplayEngine
from mooring.replay.recorded_informers import recorded_object

_POD = msgspec.json.Decoder(Pod)


class RecordedCheckpoint:
    """A checkpoint whose entries are added one by one, and then restored in an engine."""

    def __init__(self, begins: CheckpointBegins) -> None:
        self.begins = begins
        self._objects: list[tuple[str, Any]] = []
        self._works: list[CheckpointWork] = []
        self._placements: list[CheckpointPlacement] = []

    @property
    def time(self) -> float:
        """Return when it was taken."""
        return self.begins.time

    def add(self, entry: CheckpointObject | CheckpointWork | CheckpointPlacement) -> None:
        """Add an entry of the checkpoint."""
        if isinstance(entry, CheckpointObject):
            self._objects.append((entry.kind, recorded_object(entry)))
        elif isinstance(entry, CheckpointWork):
            self._works.append(entry)
        else:
            self._placements.append(entry)

    def restore(self, engine: ReplayEngine) -> None:
        """Bring a new engine into this state."""
        begins, cache = self.begins, engine.scheduler.cache
        engine.set_time(begins.time)
        nodes: dict[str, Node] = {}
        pods: dict[str, Pod] = {}
        for _, obj in self._objects:
            if isinstance(obj, Node):
                nodes[obj.metadata.name] = obj
            elif type(obj) is Pod:
                pods[obj.metadata.uid] = obj
        for name in begins.rows:
            if name in nodes:
                cache.add_node(nodes[name])
        cache.arrange_nodes(begins.zones)
        self._store(engine, pods=False)
        self._work(engine)
        # The order of the pods on a node decides between equal victims.
        for placed in self._placements:
            pod = pods.get(placed.uid)
            if placed.assumed != NOT_ASSUMED:
                self._assume(engine, placed, pod)
            elif pod is not None and pod.spec.node_name:
                cache.add_pod(pod)
        self._store(engine, pods=True)
        self._nominate(engine.scheduler.nominator, pods)

    def _store(self, engine: ReplayEngine, *, pods: bool) -> None:
        """Put the pods, or all other objects, into the stores.

        While a pod is stored, the clock shows the time at which it was seen with its node.
        """
        seen = {one.uid: one.seen for one in self._placements if one.seen} if pods else {}
        drain = engine.scheduler.inbox.drain
        for kind, obj in self._objects:
            if (type(obj) is Pod) is not pods:
                continue
            time = seen.get(obj.metadata.uid)
            if time is None:
                engine.informers.named(kind).add(obj)
                continue
            drain()
            engine.clock.time = time
            engine.informers.named(kind).add(obj)
            drain()
            engine.clock.time = self.begins.time
        drain()

    def _work(self, engine: ReplayEngine) -> None:
        """Run the last runs of periodic work again, at their recorded times."""
        for run in self._works:
            engine.work_begins(run.time, run.work)
            for answer in run.answers:
                engine.fetched(answer)
        engine.set_time(self.begins.time)

    def _nominate(self, nominator: PodNominator, pods: Mapping[str, Pod]) -> None:
        """Set the nominations; the statuses of pods may name others, which have ended."""
        for node_name in list(nominator.nodes()):
            for info in nominator.nominated_on(node_name):
                nominator.delete(info.uid)
        for uid, node_name in self.begins.nominations:
            if uid in pods:
                nominator.add(pods[uid], node_name)

    def _assume(self, engine: ReplayEngine, placed: CheckpointPlacement, pod: Pod | None) -> None:
        """Reserve a pod that was on its way to a node, and let it wait at Permit if it did."""
        if pod is None:
            # The pod was assumed in the cache, although it was no longer in the store.
            pod = _POD.decode(placed.assumed)
            engine.scheduler.cache.assume_pod(pod, placed.node)
            return
        begins, meta = self.begins, pod.metadata
        entry = AttemptBegins(
            begins.time,
            meta.namespace,
            meta.name,
            meta.uid,
            meta.resource_version,
            pod.spec.scheduler_name,
            1,
            begins.seed,
            begins.sampling_start,
            post_filter=False,
        )
        engine.begin(entry)
        engine.decide(entry, pod)
        engine.reserve(begins.time, placed.uid, placed.node)
        engine.permit(placed.waits_since or begins.time, placed.uid, placed.waits)
