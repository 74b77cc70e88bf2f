"""DefaultPreemption: PostFilter that clears the cheapest node for a pod that fits nowhere.

# kube-scheduler: plugins/defaultpreemption/default_preemption.go,
# framework/preemption/preemption.go
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from mooring.api import Pod, PodDisruptionBudget
from mooring.errors import ApiError, MooringError
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource, QueueingHint
from mooring.framework.decision import Candidate, NodeStatuses
from mooring.framework.extender import Victims
from mooring.framework.handle import Handle
from mooring.framework.plugin import Nominate, Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status, code_of
from mooring.observe.logs import vlog
from mooring.plugins.args import DefaultPreemptionArgs
from mooring.plugins.preemption.budgets import Budgets
from mooring.plugins.preemption.dry_run import DryRun
from mooring.plugins.preemption.executor import Executor
from mooring.plugins.preemption.importance import Cost
from mooring.plugins.preemption.trials import DryRunResult, RememberedTrials, TrialMemory

log = logging.getLogger(__name__)

NEVER = "preemption: not eligible due to preemptionPolicy=Never."
VICTIM_TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_CANDIDATE = "preemption: no candidate node for preemption"
STILL_PREEMPTING = "waiting for the preemption for this pod to be finished"

_STILL_PREEMPTING = Status.unresolvable(STILL_PREEMPTING)

NO_CANDIDATE_FOUND = "No preemption candidate is found; preemption is not helpful for scheduling"
WILL_NOT_HELP = "Preemption will not help schedule pod on any node"
DETERMINED = "the target node for the preemption is determined"
SKIPPED_EXTENDER = "Skipped extender as it returned error and has ignorable flag set"
WITHOUT_VICTIMS = "Ignored node for which the extender didn't report victims"


class Candidates(Sequence[Candidate]):
    """All nodes that could be cleared; each Candidate is made when it is read."""

    def __init__(self, trials: Sequence[DryRunResult], cheapest: Cost) -> None:
        self._trials = trials
        self._cheapest = cheapest

    def __len__(self) -> int:
        return len(self._trials)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...

    @overload
    def __getitem__(self, index: slice) -> list[Candidate]: ...

    def __getitem__(self, index: int | slice) -> Candidate | list[Candidate]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        trial = self._trials[index]
        victims = tuple(info.pod for info in trial.victims())
        acceptable = trial.cost == self._cheapest
        return Candidate(trial.node_name, victims, trial.violations, acceptable)


class DefaultPreemption(Plugin):
    """The plugin that nominates a node for a pod, and removes less important pods from it."""

    name = "DefaultPreemption"
    Args = DefaultPreemptionArgs
    args: DefaultPreemptionArgs

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._executor = Executor(self.name, self.handle)
        self._memory = TrialMemory()

    def start(self) -> None:
        """Request the informer of disruption budgets before the first preemption needs it."""
        self.handle.lister(PodDisruptionBudget)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keep a pod out of the queue while its own victims are being removed."""
        if self._executor.is_preempting(pod.metadata.uid):
            return _STILL_PREEMPTING
        return None

    async def post_filter(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear, and nominate it.

        Suspends only to call extenders, or if the gate SchedulerAsyncPreemption is off.
        """
        try:
            return await self._preempt(state, pod, statuses)
        finally:
            self.handle.metrics.preemption_attempts.inc()

    async def _preempt(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        pod = self.handle.lister(Pod).get(pod.metadata.name, pod.metadata.namespace) or pod
        refusal = self._ineligible(pod, statuses)
        if refusal is not None:
            return refusal
        found, tried = self._find_candidates(state, pod, statuses)
        if not found:
            vlog(log, 2, NO_CANDIDATE_FOUND, pod=pod)
            faults = [trial.refusal for trial in tried if code_of(trial.refusal) is Code.ERROR]
            if faults:
                return Status.error(*(f"preemption: {fault.message}" for fault in faults if fault))
            return Nominate("", Status.unschedulable(f"preemption: {_outcome(statuses, tried)}"))
        left = await self._ask_extenders(pod, found)
        if isinstance(left, Status):
            return left
        if not left:
            return Status.unschedulable(NO_CANDIDATE)
        return await self._carry_out(pod, left)

    def _ineligible(self, pod: Pod, statuses: NodeStatuses) -> Status | None:
        if pod.spec.preemption_policy == "Never":
            return Status.unschedulable(NEVER)
        node = self.handle.snapshot.find(pod.status.nominated_node_name)
        if node is None:
            return None
        if code_of(statuses.get(node.name)) is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        for other in node.pods.values():
            if other.priority < pod.priority and _is_leaving(other.pod):
                return Status.unschedulable(VICTIM_TERMINATING)
        return None

    def _find_candidates(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> tuple[list[DryRunResult], list[DryRunResult]]:
        """Return the trials of nodes on which preemption helps, and the failed trials."""
        rows = statuses.rows_with(Code.UNSCHEDULABLE)
        if not len(rows):
            vlog(log, 3, WILL_NOT_HELP, pod=pod)
            return [], []
        wanted = self._num_candidates(len(rows))
        rows = np.roll(rows, -self.handle.random.randrange(len(rows)))
        budgets = Budgets(self.handle.lister(PodDisruptionBudget).list())
        harmless: list[DryRunResult] = []
        violating: list[DryRunResult] = []
        in_vain: list[DryRunResult] = []
        remembered = self._remembered(state, pod, budgets)
        for trials in DryRun(self.handle, state, pod, budgets, remembered).run(rows, wanted):
            for trial in trials:
                if trial.refusal is not None:
                    in_vain.append(trial)
                    continue
                (violating if trial.cost[0] else harmless).append(trial)
                if harmless and len(harmless) + len(violating) >= wanted:
                    return harmless + violating, in_vain
        return harmless + violating, in_vain

    def _remembered(self, state: CycleState, pod: Pod, budgets: Budgets) -> RememberedTrials | None:
        """Return the cached trials of identical pods; None if they cannot be cached."""
        if budgets:
            return None
        signature = self.handle.sign(state, pod)
        if signature is None:
            return None
        return self._memory.of((signature, self.handle.pod_info(pod).priority))

    def _num_candidates(self, num_nodes: int) -> int:
        share = num_nodes * self.args.min_candidate_nodes_percentage // 100
        return min(max(share, self.args.min_candidate_nodes_absolute), num_nodes)

    async def _ask_extenders(
        self, pod: Pod, found: list[DryRunResult]
    ) -> list[DryRunResult] | Status:
        asked = [
            extender
            for extender in self.handle.extenders
            if extender.supports_preemption and extender.is_interested(pod)
        ]
        if not asked:
            return found
        victims = {
            trial.node_name: Victims(tuple(info.pod for info in trial.victims()), trial.violations)
            for trial in found
        }
        for extender in asked:
            try:
                answer = dict(await extender.process_preemption(pod, victims, self.handle.snapshot))
            except MooringError as error:
                if extender.ignorable:
                    vlog(log, 2, SKIPPED_EXTENDER, extender=extender.name, err=error)
                    continue
                return Status.error(f"preemption: {error}")
            for name in [name for name, those in answer.items() if not those.pods]:
                if not extender.ignorable:
                    return Status.error(
                        f'preemption: expected at least one victim pod on node "{name}"'
                    )
                vlog(log, 2, WITHOUT_VICTIMS, node=name, extender=extender.name)
                del answer[name]
            victims = answer
            if not victims:
                break
        return [
            DryRunResult.of(name, [self.handle.pod_info(victim) for victim in those.pods], those)
            for name, those in victims.items()
        ]

    async def _carry_out(self, pod: Pod, found: Sequence[DryRunResult]) -> Nominate | Status:
        cheapest = min(trial.cost for trial in found)
        # Sorted by name, so that a seed gives the same choice whatever the order of rows.
        best = sorted(
            (trial for trial in found if trial.cost == cheapest), key=lambda trial: trial.node_name
        )
        chosen = self.handle.random.choice(best)
        vlog(log, 2, DETERMINED, node=chosen.node_name, pod=pod)
        victims = tuple(info.pod for info in chosen.victims())
        if self.handle.features.enabled("SchedulerAsyncPreemption"):
            self._executor.start(pod, chosen.node_name, victims)
        else:
            try:
                await self._executor.run(pod, chosen.node_name, victims)
            except ApiError as error:
                return Status.error(f"preemption: {error}")
        candidates = Candidates(found, cheapest)
        return Nominate(chosen.node_name, victims=victims, candidates=candidates)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return only an event that never requeues; the plugins that refused the pod do that."""
        if not self.handle.features.enabled("SchedulerAsyncPreemption"):
            return []
        return [ClusterEvent(EventResource.POD, ActionType.DELETE, _after_pod_deletion)]


def _after_pod_deletion(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Return Skip: the event is only registered so that PreEnqueue runs again for a gated pod."""
    return QueueingHint.SKIP


def _is_leaving(pod: Pod) -> bool:
    """Return whether the pod is terminating because of a preemption."""
    if pod.metadata.deletion_timestamp is None:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _outcome(statuses: NodeStatuses, tried: Sequence[DryRunResult]) -> str:
    """Return why preemption helps on no node."""
    outcome = statuses.afresh(Status.unresolvable(NOT_HELPFUL))
    for trial in tried:
        if trial.refusal is not None:
            outcome.refuse(np.array([trial.row]), trial.refusal)
    return outcome.describe()
