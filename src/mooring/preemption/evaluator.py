"""Evaluator: clears the cheapest node for a pod that fits nowhere, under a plugin's policy.

# kube-scheduler: framework/preemption/preemption.go
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import overload

import numpy as np

from mooring.api import Pod, PodDisruptionBudget
from mooring.errors import ApiError, MooringError
from mooring.framework.decision import Candidate, NodeStatuses
from mooring.framework.extender import Victims
from mooring.framework.handle import Handle
from mooring.framework.plugin import Nominate
from mooring.framework.pod_groups import has_pod_groups
from mooring.framework.preemption import PreemptionPolicy
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.logs import vlog
from mooring.preemption.budgets import Budgets
from mooring.preemption.dry_run import DryRun
from mooring.preemption.executor import Executor
from mooring.preemption.importance import Cost
from mooring.preemption.trials import DryRunResult, RememberedTrials, TrialMemory

log = logging.getLogger(__name__)

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_CANDIDATE = "no candidate node for preemption"

#: Value of the label "preemptor" in metrics.
OF_POD = "pod"

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


class Evaluator:
    """The search for a node to clear, and its clearing. Owned by the plugin that preempts."""

    def __init__(self, plugin: str, handle: Handle, policy: PreemptionPolicy) -> None:
        self._handle = handle
        self._policy = policy
        self._executor = Executor(plugin, handle)
        self._memory = TrialMemory()

    def is_preempting(self, uid: str) -> bool:
        """Return whether a pod must still wait for its own preemption."""
        return self._executor.is_preempting(uid)

    async def preempt(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear, remove its victims and nominate it.

        Suspends only to call extenders, or if victims are not removed beside the scheduling loop.
        """
        try:
            return await self._preempt(state, pod, statuses)
        finally:
            self._handle.metrics.preemption_attempts.inc()

    async def _preempt(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        pod = self._handle.lister(Pod).get(pod.metadata.name, pod.metadata.namespace) or pod
        now = self._handle.clock.now
        start = now()
        found = await self._evaluate(state, pod, statuses)
        answer = found.status if isinstance(found, Nominate) else found
        code = answer.code if isinstance(answer, Status) else Code.SUCCESS
        durations = self._handle.metrics.preemption_evaluation_duration
        durations[OF_POD, code.label].observe(now() - start)
        if isinstance(found, Nominate | Status):
            return found
        return await self._clear_cheapest(pod, found)

    async def _evaluate(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Sequence[DryRunResult] | Nominate | Status:
        """Return the nodes that could be cleared, or why there are none."""
        reason = self._policy.ineligible(state, pod, statuses)
        if reason:
            return Status.unschedulable(self._text(reason))
        found, tried = self._find_candidates(state, pod, statuses)
        if not found:
            vlog(log, 2, NO_CANDIDATE_FOUND, pod=pod)
            faults = [
                trial.refusal.message
                for trial in tried
                if trial.refusal is not None and trial.refusal.is_error
            ]
            if faults:
                return self._policy.failed(faults)
            return Nominate("", Status.unschedulable(self._text(_outcome(statuses, tried))))
        left = await self._ask_extenders(pod, found)
        if isinstance(left, Status) or left:
            return left
        return Status.unschedulable(self._text(NO_CANDIDATE))

    def _text(self, message: str) -> str:
        return self._policy.prefix + message

    def _find_candidates(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> tuple[list[DryRunResult], list[DryRunResult]]:
        """Return the trials of nodes on which preemption helps, and the failed trials."""
        candidates = self._policy.search(state, pod, statuses)
        if candidates is not None:
            return self._cheapest_of_each(candidates), []
        rows = statuses.rows_with(Code.UNSCHEDULABLE)
        if not len(rows):
            vlog(log, 3, WILL_NOT_HELP, pod=pod)
            return [], []
        wanted = self._num_candidates(len(rows))
        if self._policy.random_start:
            rows = np.roll(rows, -self._handle.random.randrange(len(rows)))
        budgets = Budgets(
            self._handle.lister(PodDisruptionBudget).list(),
            stop_at_exceeded=self._handle.features.release.stops_at_exceeded_budget,
        )
        harmless: list[DryRunResult] = []
        violating: list[DryRunResult] = []
        in_vain: list[DryRunResult] = []
        remembered = self._remembered(state, pod, budgets)
        dry_run = DryRun(self._handle, state, pod, budgets, remembered, self._policy)
        for trials in dry_run.run(rows, wanted):
            for trial in trials:
                if trial.refusal is not None:
                    in_vain.append(trial)
                    continue
                (violating if trial.cost[0] else harmless).append(trial)
                if harmless and len(harmless) + len(violating) >= wanted:
                    return harmless + violating, in_vain
        return harmless + violating, in_vain

    def _cheapest_of_each(self, candidates: Sequence[Candidate]) -> list[DryRunResult]:
        """Return the cheapest candidate of each node as a trial."""
        found: dict[str, DryRunResult] = {}
        for one in candidates:
            pods = [self._handle.pod_info(victim) for victim in one.victims]
            victims = Victims(one.victims, one.pdb_violations)
            trial = DryRunResult.of(one.node_name, pods, victims)
            best = found.get(one.node_name)
            if best is None or trial.cost < best.cost:
                found[one.node_name] = trial
        return list(found.values())

    def _remembered(self, state: CycleState, pod: Pod, budgets: Budgets) -> RememberedTrials | None:
        """Return the cached trials of identical pods; None if they cannot be cached."""
        if budgets or not self._policy.by_priority_alone:
            return None
        signature = self._handle.sign(state, pod)
        if signature is None:
            return None
        return self._memory.of((signature, self._handle.pod_info(pod).priority))

    def _num_candidates(self, num_nodes: int) -> int:
        share = num_nodes * self._policy.min_candidate_nodes_percentage // 100
        return min(max(share, self._policy.min_candidate_nodes_absolute), num_nodes)

    async def _ask_extenders(
        self, pod: Pod, found: list[DryRunResult]
    ) -> list[DryRunResult] | Status:
        asked = [
            extender
            for extender in self._handle.extenders
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
                answer = dict(
                    await extender.process_preemption(pod, victims, self._handle.snapshot)
                )
            except MooringError as error:
                if extender.ignorable:
                    vlog(log, 2, SKIPPED_EXTENDER, extender=extender.name, err=error)
                    continue
                return Status.error(self._text(str(error)))
            for name in [name for name, those in answer.items() if not those.pods]:
                if not extender.ignorable:
                    text = f'expected at least one victim pod on node "{name}"'
                    return Status.error(self._text(text))
                vlog(log, 2, WITHOUT_VICTIMS, node=name, extender=extender.name)
                del answer[name]
            victims = answer
            if not victims:
                break
        return [
            DryRunResult.of(name, [self._handle.pod_info(victim) for victim in those.pods], those)
            for name, those in victims.items()
        ]

    def _whole_groups(self, trial: DryRunResult, budgets: Budgets) -> DryRunResult:
        """Return a trial whose victims take the groups with them that are disrupted as a whole."""
        groups = self._handle.pod_groups
        victims = {info.uid: info for info in trial.victims()}
        for info in tuple(victims.values()):
            victims.update((other.uid, other) for other in groups.disrupted_with(info.pod))
        if len(victims) == len(tuple(trial.victims())):
            return trial
        pods = list(victims.values())
        violations = budgets.violations(pods, {})
        whole = Victims(tuple(info.pod for info in pods), violations)
        return DryRunResult.of(trial.node_name, pods, whole)

    async def _clear_cheapest(self, pod: Pod, found: Sequence[DryRunResult]) -> Nominate | Status:
        if has_pod_groups(self._handle.features):
            budgets = Budgets(self._handle.lister(PodDisruptionBudget).list())
            found = [self._whole_groups(trial, budgets) for trial in found]
        cheapest = min(trial.cost for trial in found)
        # Sorted by name, so that a seed gives the same choice whatever the order of rows.
        best = sorted(
            (trial for trial in found if trial.cost == cheapest), key=lambda trial: trial.node_name
        )
        chosen = self._handle.random.choice(best)
        vlog(log, 2, DETERMINED, node=chosen.node_name, pod=pod)
        victims = tuple(info.pod for info in chosen.victims())
        failure = await self._carry_out(pod, chosen.node_name, victims, chosen.violations)
        if failure is not None:
            return failure
        candidates = Candidates(found, cheapest)
        return Nominate(chosen.node_name, victims=victims, candidates=candidates)

    async def _carry_out(
        self, pod: Pod, node_name: str, victims: Sequence[Pod], violations: int
    ) -> Status | None:
        """Remove the victims, now or beside the scheduling loop; return the error."""
        if violations:
            self._handle.metrics.preemption_pdb_violations[OF_POD].inc(violations)
        beside = self._policy.beside_cycle
        if beside and self._handle.features.enabled("SchedulerAsyncPreemption"):
            self._executor.start(pod, node_name, victims)
            return None
        try:
            await self._executor.run(pod, node_name, victims)
        except ApiError as error:
            return Status.error(self._text(str(error)))
        return None


def _outcome(statuses: NodeStatuses, tried: Sequence[DryRunResult]) -> str:
    """Return why preemption helps on no node."""
    outcome = statuses.afresh(Status.unresolvable(NOT_HELPFUL))
    for trial in tried:
        if trial.refusal is not None:
            outcome.refuse(np.array([trial.row]), trial.refusal)
    return outcome.describe()
