"""GroupEvaluator: makes room for a pod group that does not fit, anywhere in the cluster.

Units of lower priority are removed from the snapshot, the group is placed in it, and the units that
leave it room are put back, the most important first. Those that cannot be put back are the victims.

kube-scheduler removes all units of lower priority at once, so the group goes where it scores best
in the emptied cluster, whatever runs there. Here the fewest levels of units are removed with which
the group fits: units that violate no budget before those that do, and within each the lower
priorities first. So a budget is violated, or a higher priority preempted, only if the group has no
other place.

# kube-scheduler: framework/preemption/podgrouppreemption.go
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby

from mooring.api import AnyPodGroup, Pod, PodDisruptionBudget
from mooring.errors import ApiError
from mooring.framework.handle import Handle
from mooring.framework.placements import GroupTrial, NominatePods
from mooring.framework.preemption import NEVER, is_preempted
from mooring.framework.status import Code, Status
from mooring.observe.logs import vlog
from mooring.preemption.budgets import Budgets
from mooring.preemption.executor import Executor
from mooring.preemption.units import Unit, units_below

log = logging.getLogger(__name__)

PREFIX = "pod group preemption: "
NO_VICTIMS = "No preemption victims found for incoming preemptor"
ONGOING = "ongoing preemption on nominated nodes"
#: Value of the label "preemptor" in the metric of evaluations, whatever kind of group preempts.
KIND = "podgroup"
FOUND = "found a placement for podgroup, preempting {} victims"

#: Units that are removed together: (whether they violate a budget, their priority), and the units,
#: each with how many of its pods violate one.
_Level = tuple[tuple[bool, int], list[tuple[Unit, int]]]


class GroupEvaluator:
    """The search for a group's victims, and their removal. Owned by the plugin that preempts."""

    def __init__(self, handle: Handle, executor: Executor) -> None:
        self._handle = handle
        self._executor = executor

    async def preempt(self, trial: GroupTrial) -> NominatePods | Status:
        """Find victims for a group, remove them and nominate nodes for its pods."""
        result = await self._preempt(trial)
        status = result.status if isinstance(result, NominatePods) else result
        self._handle.metrics.workload_preemption_attempts[status.code.label].inc()
        return result

    async def _preempt(self, trial: GroupTrial) -> NominatePods | Status:
        group, pods = trial.group, trial.pods
        if self._never_preempts(group, pods):
            return Status.unschedulable(PREFIX + NEVER)
        if self._is_ongoing(group, pods):
            nominated = {pod.metadata.uid: pod.status.nominated_node_name for pod in pods}
            return NominatePods(nominated, Status.success(PREFIX + ONGOING))
        start = self._handle.clock.now()
        victims = await self._select(trial)
        result = victims.code if isinstance(victims, Status) else Code.SUCCESS
        metrics = self._handle.metrics
        metrics.preemption_evaluation_duration[KIND, result.label].observe(
            self._handle.clock.now() - start
        )
        if isinstance(victims, Status):
            return victims
        groups = sum(unit.is_group for unit in victims)
        if groups:
            metrics.preemption_workload_disruptions[group.entity_type].observe(groups)
        nodes = {info.uid: node_name for info, node_name in trial.assignments}
        leaving = [info.pod for unit in victims for info in unit.pods]
        failure = await self._carry_out(group, pods, sorted(set(nodes.values())), leaving)
        if failure is not None:
            return failure
        status = Status.success(PREFIX + FOUND.format(len(leaving)))
        return NominatePods(nodes, status, tuple(leaving))

    def _never_preempts(self, group: AnyPodGroup, pods: Sequence[Pod]) -> bool:
        if self._handle.features.enabled("PodGroupPreemptionPolicy"):
            return group.spec.preemption_policy == "Never"
        return any(pod.spec.preemption_policy == "Never" for pod in pods)

    def _is_ongoing(self, group: AnyPodGroup, pods: Sequence[Pod]) -> bool:
        """Return whether victims are leaving a node that a pod of the group is nominated to."""
        groups, priority = self._handle.pod_groups, group.priority
        for name in {pod.status.nominated_node_name for pod in pods} - {""}:
            node = self._handle.snapshot.find(name)
            if node is not None and any(
                is_preempted(info.pod) and groups.priority_of(info) < priority
                for info in node.pods.values()
            ):
                return True
        return False

    async def _select(self, trial: GroupTrial) -> list[Unit] | Status:
        """Return the victims, with the group placed in the trial; or why there are none."""
        every = (
            info for node in self._handle.snapshot.infos() for info in tuple(node.pods.values())
        )
        units = units_below(every, self._handle.pod_groups, trial.group.priority)
        if not units:
            return Status.unresolvable(PREFIX + NO_VICTIMS)
        levels = self._levels(units)
        status = await self._try(trial, levels)
        if status is not None:
            return Status(status.code, (PREFIX + status.message,))
        levels = await self._fewest(trial, levels)
        victims: list[Unit] = []
        for (violates, _), level in reversed(levels):
            vlog(log, 6, "Putting pods back", units=len(level), violatesBudget=violates)
            ordered = sorted(level, key=lambda pair: pair[0].importance)
            lost = [pair for pair in ordered if not trial.put_back(pair[0].pods)]
            if violates and lost:
                violations = self._handle.metrics.preemption_pdb_violations
                violations[trial.group.entity_type].inc(sum(count for _, count in lost))
            victims += [unit for unit, _ in lost]
        victims.sort(key=lambda unit: unit.importance)
        return victims

    def _levels(self, units: Sequence[Unit]) -> list[_Level]:
        """Return the units by level, the cheapest level first."""
        budgets = Budgets(self._handle.lister(PodDisruptionBudget).list())
        used: dict[int, int] = {}
        found = []
        # The least important first: they may use what disruptions the budgets allow.
        for unit in sorted(units, key=lambda one: one.importance, reverse=True):
            violations = budgets.violations(unit.pods, used)
            found.append(((violations > 0, unit.priority), (unit, violations)))
        found.sort(key=lambda pair: pair[0])
        return [
            (level, [counted for _, counted in pairs])
            for level, pairs in groupby(found, key=lambda pair: pair[0])
        ]

    @staticmethod
    async def _try(trial: GroupTrial, levels: Sequence[_Level]) -> Status | None:
        trial.reset()
        for _, units in levels:
            for unit, _ in units:
                trial.remove(unit.pods)
        return await trial.place()

    async def _fewest(self, trial: GroupTrial, levels: list[_Level]) -> list[_Level]:
        """Return the fewest levels with which the group fits; it is placed with those removed.

        It fits with all of them.
        """
        low, high, placed = 1, len(levels), len(levels)
        while low < high:
            middle = (low + high) // 2
            placed = middle
            if await self._try(trial, levels[:middle]) is None:
                high = middle
            else:
                low = middle + 1
        while placed != high:
            # The last trial was of fewer levels, and failed. Scores tie at random, so that a second
            # trial could fail where the first one succeeded; then take more levels.
            placed = high
            if await self._try(trial, levels[:high]) is not None and high < len(levels):
                high += 1
        return levels[:high]

    async def _carry_out(
        self,
        group: AnyPodGroup,
        pods: Sequence[Pod],
        node_names: Sequence[str],
        victims: Sequence[Pod],
    ) -> Status | None:
        if self._handle.features.enabled("SchedulerAsyncPreemption"):
            self._executor.start_for_group(group, pods, node_names, victims)
            return None
        try:
            await self._executor.run_for_group(group, pods, node_names, victims)
        except ApiError as error:
            return Status(Code.ERROR, (PREFIX + str(error),))
        return None
