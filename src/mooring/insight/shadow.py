"""Shadow: what a scheduler would do in a cluster that another one serves."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import Pod
from mooring.framework.decision import Outcome
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.state import CycleState
from mooring.insight.comparison import PodComparison, Verdict, compare
from mooring.scheduler.scheduler import Scheduler
from mooring.scheduler.taps import SilentTap
from mooring.typing import Floats

log = logging.getLogger(__name__)

#: Seconds after a change of a node during which the other scheduler may not have seen it.
SETTLING = 1.0
#: Seconds between two looks at the nodes that have changed.
LOOK_EVERY = 0.25
#: Examples that are kept for each verdict and plugin.
EXAMPLES = 3


class ShadowReport(msgspec.Struct):
    """How often a scheduler agrees with another one, and examples of where it does not."""

    counts: Counter[Verdict] = msgspec.field(default_factory=Counter)
    #: By verdict and plugin.
    plugins: Counter[tuple[Verdict, str]] = msgspec.field(default_factory=Counter)
    #: Totals that the other scheduler's nodes have less than our best.
    lost: int = 0
    examples: dict[tuple[Verdict, str], list[PodComparison]] = msgspec.field(default_factory=dict)

    def add(self, found: PodComparison) -> None:
        """Count a comparison."""
        self.counts[found.verdict] += 1
        if found.verdict is Verdict.AGREED:
            return
        key = (found.verdict, found.plugin)
        self.plugins[key] += 1
        self.lost += found.lost
        kept = self.examples.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(found)

    @property
    def decided(self) -> int:
        """Return how many pods were compared and could be decided."""
        return self.counts.total() - self.counts[Verdict.UNDECIDABLE]

    @property
    def agreement(self) -> float:
        """Return the share of agreement among the pods that could be decided; 1.0 without any."""
        return self.counts[Verdict.AGREED] / self.decided if self.decided else 1.0


class RowChanges:
    """When each node of a snapshot last changed, as far as it was looked at."""

    def __init__(self) -> None:
        self._times: Floats = np.full(0, -np.inf)
        self._generation = -1
        self._node_generation = -1

    def update(self, nodes: Nodes, now: float) -> None:
        """Take note of the rows that have changed since the last call."""
        rows = nodes.changed_since(self._generation)
        if len(self._times) != len(nodes) or self._node_generation != nodes.node_generation:
            # Rows may have moved. The first look at a snapshot finds nothing new.
            is_first = self._generation < 0
            self._times = np.full(len(nodes), -np.inf if is_first else now)
        elif rows is None:
            self._times[:] = now
        else:
            self._times[rows] = now
        self._generation = nodes.generation
        self._node_generation = nodes.node_generation

    def is_settled(self, row: int, now: float) -> bool:
        """Return whether a row has not changed for `SETTLING` seconds."""
        return row < 0 or bool(now - self._times[row] >= SETTLING)


class Shadow(SilentTap):
    """The comparison of a read-only scheduler with the one that serves the cluster.

    A pod is decided on the state before its bind is seen.
    """

    def __init__(self, told: Callable[[PodComparison], None] | None = None) -> None:
        self.report = ShadowReport()
        self._told = told
        self._scheduler: Scheduler | None = None
        self._changes = RowChanges()

    def begin(self, scheduler: Scheduler) -> None:
        """Compare from now on; what the informers found first is not compared."""
        self._scheduler = scheduler
        self.look()

    def look(self) -> None:
        """Take note of the nodes that have changed; call it every `LOOK_EVERY` seconds."""
        if self._scheduler is not None:
            self._changes.update(self._scheduler.cache.nodes, self._scheduler.clock.now())

    def assigning(self, pod: Pod, node_name: str) -> None:
        """Decide for a pod that has just got a node, and compare."""
        scheduler = self._scheduler
        if scheduler is None or pod.spec.scheduler_name not in scheduler.profiles:
            return
        now, nodes = scheduler.clock.now(), scheduler.cache.nodes
        self._changes.update(nodes, now)
        found = self._compare(scheduler, pod, node_name)
        if found.verdict is not Verdict.AGREED:
            rows = (nodes.row(name) for name in (found.theirs, found.ours) if name)
            if not all(self._changes.is_settled(row, now) for row in rows):
                found = replace(found, verdict=Verdict.UNDECIDABLE)
        self._take(found)

    def ask_pending(self, pod: Pod) -> None:
        """Compare a pod that the other scheduler has declared unschedulable."""
        scheduler = self._scheduler
        if scheduler is None or pod.spec.scheduler_name not in scheduler.profiles:
            return
        decision = scheduler.cycle.run_sync(pod, CycleState(), examine=True)
        if decision.outcome is Outcome.SCHEDULED:
            self._take(PodComparison(pod.key, Verdict.PENDING_THERE, ours=decision.node_name))

    def _compare(self, scheduler: Scheduler, pod: Pod, node_name: str) -> PodComparison:
        try:
            decision = scheduler.cycle.run_sync(pod, CycleState(), examine=True)
        except BaseException as error:
            raise_if_external(error)
            return PodComparison(pod.key, Verdict.ERROR, node_name, reason=error_text(error))
        return compare(decision, node_name)

    def _take(self, found: PodComparison) -> None:
        self.report.add(found)
        if self._told is not None:
            self._told(found)
