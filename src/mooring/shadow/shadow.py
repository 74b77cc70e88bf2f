"""Shadow: what a scheduler would do in a cluster that another one serves."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import Pod
from mooring.framework.decision import Decision, Outcome
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.state import CycleState
from mooring.journal.entries import EVERY_NODE, AttemptBegins, Compared
from mooring.observe.attempt_random import state_of
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.scheduler import Scheduler
from mooring.scheduler.taps import SilentTap
from mooring.shadow.comparison import Agreement, PodComparison, Verdict, compare
from mooring.shadow.their_rules import as_theirs
from mooring.typing import Floats
from mooring.virtual.comparing_scheduler import Why, is_best, why_changed
from mooring.virtual.driving import drive

log = logging.getLogger(__name__)

#: Seconds after a change of a node during which the other scheduler may not have seen it.
SETTLING = 1.0
#: Seconds between two looks at the nodes that have changed.
LOOK_EVERY = 0.25
#: Examples that are kept for each verdict and plugin.
EXAMPLES = 3

_THERE = "refused there"


class ShadowReport(Agreement):
    """How often a scheduler agrees with another one, and examples of where it does not."""

    #: By verdict and plugin.
    plugins: Counter[tuple[Verdict, str]] = msgspec.field(default_factory=Counter)
    examples: dict[tuple[Verdict, str], list[PodComparison]] = msgspec.field(default_factory=dict)

    def add(self, found: PodComparison) -> None:
        """Count a comparison."""
        self.count(found.verdict, found.lost)
        if found.verdict is Verdict.AGREED:
            return
        key = (found.verdict, found.plugin)
        self.plugins[key] += 1
        kept = self.examples.setdefault(key, [])
        if len(kept) < EXAMPLES:
            kept.append(found)


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

    def unsettled(self, nodes: Nodes, now: float) -> list[str]:
        """Return the names of the nodes that have changed within `SETTLING` seconds.

        Return [EVERY_NODE] if all have, as after a node was added or removed.
        """
        rows, names = np.flatnonzero(now - self._times < SETTLING).tolist(), nodes.names
        return [EVERY_NODE] if len(rows) == len(names) else [names[row] for row in rows]


class ComparisonJournal(Protocol):
    """A journal of comparisons; `SchedulingJournal` is one."""

    def compared(
        self, begins: AttemptBegins, decision: Decision | None, compared: Compared
    ) -> None:
        """Record a decision and what the other scheduler did."""
        ...


class Shadow(SilentTap):
    """The comparison of a read-only scheduler with the one that serves the cluster.

    A pod is decided on the state before its bind is seen. If the scheduler's configuration has
    their rules too (`their_rules.beside`), a difference is attributed to the plugin in which the
    two sets of rules differ.

    A `journal` receives each comparison before the change that showed what the other scheduler
    did. For that, it must come after the shadow among the taps.
    """

    def __init__(
        self,
        told: Callable[[PodComparison], None] | None = None,
        journal: ComparisonJournal | None = None,
    ) -> None:
        self.report = ShadowReport()
        self._told = told
        self._journal = journal
        #: By uid: how often a pod that is pending in the cluster has been compared.
        self._attempts: Counter[str] = Counter()
        self._scheduler: Scheduler | None = None
        self._changes = RowChanges()
        #: Uids of pods that are pending there and have been compared.
        self._pending: set[str] = set()

    def begin(self, scheduler: Scheduler) -> None:
        """Compare from now on; what the informers found first is not compared."""
        self._scheduler = scheduler
        self.look()

    def look(self) -> None:
        """Take note of the nodes that have changed; call it every `LOOK_EVERY` seconds."""
        if self._scheduler is not None:
            self._changes.update(self._scheduler.cache.nodes, self._scheduler.clock.now())

    def changed(self, kind: Any, old: Any, new: Any) -> None:
        """Compare a pod that has just got a node, or that was just declared unschedulable.

        The decision uses the pod and the cluster as they were before the change.
        """
        if kind is not Pod or old is None:
            return
        uid = old.metadata.uid
        if new is None or new.metadata.uid != uid:
            self._forget(uid)
        elif old.spec.node_name:
            return
        elif new.spec.node_name:
            self._compare_placed(old, new.spec.node_name)
            self._forget(uid)
        elif is_unschedulable(new) and new.status != old.status:
            self.look()
            self.ask_pending(old)

    def _forget(self, uid: str) -> None:
        self._pending.discard(uid)
        self._attempts.pop(uid, None)

    def _compare_placed(self, pod: Pod, node_name: str) -> None:
        scheduler = self._scheduler
        if scheduler is None or pod.spec.scheduler_name not in scheduler.profiles:
            return
        self.look()
        begins, decision = self._begin(scheduler, pod), None
        try:
            decision = decide_beside(scheduler, pod)
            found = compare(decision, node_name)
            if found.verdict is Verdict.OTHER_NODE:
                found = _attributed(scheduler, found, decision)
        except BaseException as error:
            raise_if_external(error)
            found = PodComparison(pod.key, Verdict.ERROR, node_name, reason=error_text(error))
        self._take(self._checked(scheduler, found), scheduler, begins, decision)

    def _begin(self, scheduler: Scheduler, pod: Pod) -> AttemptBegins:
        """Return the journal entry with which the decision about a pod begins."""
        meta = pod.metadata
        return AttemptBegins(
            scheduler.clock.now(),
            meta.namespace,
            meta.name,
            meta.uid,
            meta.resource_version,
            pod.spec.scheduler_name,
            self._attempts[meta.uid] + 1,
            state_of(scheduler.random),
            scheduler.cycle.search.next_start_node_index,
            post_filter=False,
            beside=True,
        )

    def ask_pending(self, pod: Pod, *, is_last: bool = False) -> None:
        """Compare a pod that the other scheduler has declared unschedulable.

        Each pod is counted once. What cannot be decided yet is asked again with the next change of
        the pod, and counted if this is the last time.
        """
        scheduler = self._scheduler
        if (
            scheduler is None
            or pod.spec.scheduler_name not in scheduler.profiles
            or pod.metadata.uid in self._pending
        ):
            return
        begins, decision = self._begin(scheduler, pod), None
        try:
            decision = decide_beside(scheduler, pod)
        except BaseException as error:
            raise_if_external(error)
            found = PodComparison(pod.key, Verdict.ERROR, reason=error_text(error))
        else:
            if decision.outcome is not Outcome.SCHEDULED:
                return
            why = _refused_there(scheduler, decision)
            found = PodComparison(
                pod.key,
                Verdict.PENDING_THERE,
                ours=decision.node_name,
                plugin=why.plugin,
                reason=why.reason,
            )
        found = self._checked(scheduler, found)
        if found.verdict is not Verdict.UNDECIDABLE or is_last:
            self._pending.add(pod.metadata.uid)
            self._attempts[pod.metadata.uid] += 1
            self._take(found, scheduler, begins, decision)

    def _checked(self, scheduler: Scheduler, found: PodComparison) -> PodComparison:
        """Return a comparison, marked as undecidable if one of the nodes has just changed."""
        now, nodes = scheduler.clock.now(), scheduler.cache.nodes
        rows = (nodes.row(name) for name in (found.theirs, found.ours) if name)
        if found.verdict is Verdict.AGREED or all(
            self._changes.is_settled(row, now) for row in rows
        ):
            return found
        return replace(found, verdict=Verdict.UNDECIDABLE)

    def _take(
        self,
        found: PodComparison,
        scheduler: Scheduler,
        begins: AttemptBegins,
        decision: Decision | None,
    ) -> None:
        self.report.add(found)
        if self._told is not None:
            self._told(found)
        if self._journal is None:
            return
        now, nodes = scheduler.clock.now(), scheduler.cache.nodes
        compared = Compared(
            now,
            begins.uid,
            found.verdict.value,
            found.theirs,
            found.ours,
            found.lost,
            found.plugin,
            found.reason,
            tuple(self._changes.unsettled(nodes, now)),
        )
        self._journal.compared(begins, decision, compared)


def is_unschedulable(pod: Pod) -> bool:
    """Return whether a pod has no node because its scheduler has found none."""
    return not pod.spec.node_name and any(
        condition.type == "PodScheduled" and condition.reason == "Unschedulable"
        for condition in pod.status.conditions
    )


def decide_beside(scheduler: Scheduler, pod: Pod) -> Decision:
    """Decide about a pending pod, without preemption, which would not give a node at once."""
    profiles, now = scheduler.profiles, scheduler.clock.now
    gate = PreEnqueue(profiles, now).run(QueuedPodInfo(pod, now(), 0))
    if gate is not None:
        return Decision(pod, pod.spec.scheduler_name, Outcome.GATED, pre_enqueue=gate)
    return drive(scheduler.cycle.run(pod, CycleState(), examine=True, post_filter=False))


def _attributed(scheduler: Scheduler, found: PodComparison, ours: Decision) -> PodComparison:
    """Attribute a difference to the plugin in which their rules differ from ours.

    If their rules do not lead to their node, the comparison stays as it is.
    """
    pod = as_theirs(ours.pod)
    if pod.spec.scheduler_name not in scheduler.profiles:
        return found
    theirs = decide_beside(scheduler, pod)
    if not is_best(theirs, found.theirs):
        return found
    why = why_changed(theirs, ours, found.theirs, found.ours)
    reason = f"{_THERE}: {why.reason}" if why.reason else ""
    return replace(found, plugin=why.plugin or found.plugin, reason=reason)


def _refused_there(scheduler: Scheduler, ours: Decision) -> Why:
    """Return which plugin of theirs refuses the node that we would choose."""
    pod = as_theirs(ours.pod)
    if pod.spec.scheduler_name not in scheduler.profiles:
        return Why()
    theirs = decide_beside(scheduler, pod)
    refusal = theirs.pre_filter
    if refusal is None and theirs.statuses is not None:
        refusal = theirs.statuses.get(ours.node_name)
    if theirs.outcome is not Outcome.UNSCHEDULABLE or refusal is None:
        return Why()
    return Why(refusal.plugin, reason=f"{_THERE}: {refusal.message}")
