"""CompositePlacing: places the groups of a tree one after another, and can undo it.

A composite group is tried in each of its placements: there its parts are placed one after another,
each in its own placements within the nodes of the parent's. It fits if enough of its parts do; the
pods of a part that does not fit are not placed. As for one group, pods are assumed in place and
undone by rows.

# kube-scheduler: schedule_one_podgroup.go (compositePodGroupSchedulingPlacementAlgorithm,
# compositePodGroupSchedulingDefaultAlgorithm)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from mooring.api import AnyPodGroup, CompositePodGroup, WorkloadPodGroup, scheduling_group_key
from mooring.binding.binding_cycle import AssumedPod
from mooring.cycle.group_points import run_placement_feasible
from mooring.cycle.placement_points import PlacementRanking
from mooring.cycle.placement_search import GROUP_UNSCHEDULABLE
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.placements import GroupAssignments, PlacementProgress
from mooring.framework.pod_info import PodInfo
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup, TriedPlacement
from mooring.scheduler.pod_group_placing import (
    GroupResult,
    MemberResult,
    PodGroupPlacing,
    choose_placement,
    none_available,
    record_scores,
)

CHILD_FAILED = "composite pod group evaluation failed due to child error: {}"

#: By entity key, why a group does not fit; None if it does. A group that was not tried is absent.
_Statuses = dict[str, Status | None]


class _Trial(msgspec.Struct):
    """The results of a group and the groups below it, or of a composite group in one placement."""

    statuses: _Statuses
    #: By pod group: the results of its pods, and the nodes of those that were placed.
    results: dict[str, tuple[list[MemberResult], Sequence[tuple[PodInfo, str]]]]
    #: The record of the group's attempt; None for a trial in one placement.
    tried: TriedGroup | None = None
    #: The records of a composite group's parts in the placement.
    parts: Sequence[TriedGroup] = ()


class CompositePlacing(PodGroupPlacing):
    """The placing of the pods of a composite group. Owned by the group's attempt."""

    group: CompositePodGroup

    def __init__(self, *args: Any, **options: Any) -> None:
        """Prepare the placing, as that of a pod group."""
        super().__init__(*args, **options)
        self._statuses: _Statuses = {}
        #: The placing of each pod group, by "namespace/name".
        self._parts: dict[str, PodGroupPlacing] = {}
        for leaf in self._groups.leaves(self.group):
            members = [one for one in self._members if scheduling_group_key(one.pod) == leaf.key]
            part = {**options, "group": leaf, "members": members, "refusals": (), "is_part": True}
            self._parts[leaf.key] = PodGroupPlacing(*args, **part)
        self._earlier = self.refusals
        self._tree = TriedGroup(self.group, None)

    def outcomes(self, status: Status | None) -> Sequence[GroupResult]:
        """Return what became of each pod group, if `place` has returned this status.

        A group that fits, but is part of one that does not, shares the fate of that one.
        """
        self._statuses[self.group.entity_key] = status
        return tuple(self._outcomes(self.group, None))

    def counted(self) -> dict[str, int]:
        """Return by uid which cycle of each pod the results come from, if it was tried there."""
        found: dict[str, int] = {}
        for part in self._parts.values():
            found |= part.counted()
        return found

    def _outcomes(self, group: AnyPodGroup, above: Status | None) -> Iterator[GroupResult]:
        shares = group.entity_key not in self._statuses
        status = self._statuses.get(group.entity_key)
        if shares or (above is not None and status is None):
            shares, status = True, above
        if isinstance(group, WorkloadPodGroup):
            part = self._parts[group.key]
            results = [] if shares and status is not None else part.results
            yield from (
                msgspec.structs.replace(one, results=results) for one in part.outcomes(status)
            )
        for child in self._groups.children(group):
            yield from self._outcomes(child, status)

    async def place(self, within: Rows | None = None) -> Status | None:
        """Place the pods of all groups; return why the composite group does not fit, or None."""
        self._clear(self.group)
        for part in self._parts.values():
            part.refusals = []
        try:
            trial = await self._place_group(self.group, within)
        except BaseException:
            self.undo()
            raise
        finally:
            found = (one for part in self._parts.values() for one in part.refusals)
            self.refusals = [*self._earlier, *found]
            self.refusers.update(*(part.refusers for part in self._parts.values()))
        self._statuses = trial.statuses
        self._tree = trial.tried or self._tree
        status = trial.statuses[self.group.entity_key]
        if status is None and not self.placed():
            # Enough pods run already, and none of the others fits.
            status = Status.unschedulable(GROUP_UNSCHEDULABLE)
        return status

    def examined(self, status: Status | None) -> TriedGroup:
        """Return the record of the attempt; `status` is what `place` has returned."""
        return msgspec.structs.replace(self._tree, status=status)

    def undo(self) -> None:
        """Take every placed pod off its node, the last one first."""
        self._undo(self.group)

    def _undo(self, group: AnyPodGroup) -> None:
        for part in reversed(self._parts_of(group)):
            part.undo()

    def _clear(self, group: AnyPodGroup) -> None:
        """Undo the placing of a group, and forget the results."""
        self._undo(group)
        for part in self._parts_of(group):
            part.results = []

    def _parts_of(self, group: AnyPodGroup) -> list[PodGroupPlacing]:
        return [self._parts[leaf.key] for leaf in self._groups.leaves(group)]

    def placed(self) -> list[AssumedPod]:
        """Return the pods that are placed."""
        return [one for part in self._parts_of(self.group) for one in part.placed()]

    async def _place_group(self, group: AnyPodGroup, within: Rows | None) -> _Trial:
        """Place a group and all below it; if it does not fit, none of its pods is placed."""
        if isinstance(group, WorkloadPodGroup):
            part = self._parts[group.key]
            status = await part.place(within)
            trial = self._kept(group, {group.entity_key: status})
            trial.tried = part.examined(status)
            return trial
        tried: list[TriedPlacement] = []
        trial = await self._place_composite(group, within, tried)
        status, size = trial.statuses[group.entity_key], len(self._groups.children(group))
        trial.tried = TriedGroup(group, status, tried, size=size)
        return trial

    async def _place_composite(
        self, group: CompositePodGroup, within: Rows | None, tried: list[TriedPlacement]
    ) -> _Trial:
        """Try a composite group in every placement; leave it placed in the best one.

        Append each placement to `tried`.
        """
        nodes = self.profile.handle.snapshot
        if within is not None:
            nodes = nodes.select(within)
        placements = self._generate(group, nodes)
        if isinstance(placements, Status):
            return self._kept(group, {group.entity_key: placements})
        fitting: list[tuple[GroupAssignments, _Trial]] = []
        fitting_placements: list[TriedPlacement] = []
        first: _Trial | None = None
        for placement in placements:
            part_of_nodes = nodes.where(placement.mask)
            self._clear(group)
            trial = await self._place_children(group, part_of_nodes)
            status = trial.statuses[group.entity_key]
            one = TriedPlacement(placement.name, len(part_of_nodes), (), status, parts=trial.parts)
            tried.append(one)
            if status is not None and status.is_error:
                return _Trial({group.entity_key: status}, trial.results)
            if status is None:
                if len(placements) == 1:
                    one.is_chosen = True
                    return trial
                fitting_placements.append(one)
                pods = [pair for _, placed in trial.results.values() for pair in placed]
                fitting.append((GroupAssignments(placement.name, part_of_nodes, pods), trial))
            first = first or trial
        self._clear(group)
        if not fitting:
            assert first is not None
            status = first.statuses[group.entity_key]
            assert status is not None
            first.statuses[group.entity_key] = none_available(len(placements), status)
            return self._restored(first)
        best = self._choose_best(group, [found for found, _ in fitting], fitting_placements)
        if isinstance(best, Status):
            return self._kept(group, {group.entity_key: best})
        return self._placed_again(group, fitting[best][1])

    def _choose_best(
        self,
        group: CompositePodGroup,
        fitting: Sequence[GroupAssignments],
        placements: Sequence[TriedPlacement],
    ) -> int | Status:
        """Return the position of the best of the fitting placements; record scores and choice."""

        def scored(ranking: PlacementRanking) -> None:
            record_scores(ranking, placements)

        chosen = choose_placement(self.profile, self.state, group, fitting, scored)
        if not isinstance(chosen, Status):
            placements[chosen].is_chosen = True
        return chosen

    async def _place_children(self, group: CompositePodGroup, nodes: Nodes) -> _Trial:
        """Place the parts of a composite group on these nodes; undo them if they are too few."""
        children = self._groups.children(group)
        fitting, remaining = 0, len(children)
        statuses: _Statuses = {}
        tried: dict[str, TriedGroup | None] = {}
        status = self._ask(group, fitting, remaining)
        for child in children if status is None or status.is_wait else ():
            trial = await self._place_group(child, nodes.rows)
            statuses |= trial.statuses
            tried[child.entity_key] = trial.tried
            fate = trial.statuses[child.entity_key]
            if fate is not None and fate.is_error:
                status = Status.error(CHILD_FAILED.format(fate.message))
                break
            remaining -= 1
            fitting += fate is None
            status = self._ask(group, fitting, remaining)
            if status is not None and not status.is_wait:
                break
        if status is not None and status.is_wait:
            status = Status.unschedulable(GROUP_UNSCHEDULABLE, *status.reasons)
        statuses[group.entity_key] = status
        trial = self._kept(group, statuses)
        trial.parts = [
            tried.get(child.entity_key) or TriedGroup(child, None, is_tried=False)
            for child in children
        ]
        if status is not None:
            self._undo(group)
        return trial

    def _ask(self, group: CompositePodGroup, fitting: int, remaining: int) -> Status | None:
        """Ask whether enough parts of a composite group fit."""
        progress = PlacementProgress(fitting, remaining)
        return run_placement_feasible(self.profile, self.state, group, progress)

    def _kept(self, group: AnyPodGroup, statuses: _Statuses) -> _Trial:
        """Return what became of a group, as it is now."""
        parts = self._parts_of(group)
        return _Trial(statuses, {one.group.key: (one.results, one.assignments) for one in parts})

    def _restored(self, trial: _Trial) -> _Trial:
        """Report the results of a trial again; its pods are not placed."""
        for key, (results, _) in trial.results.items():
            self._parts[key].results = results
        return trial

    def _placed_again(self, group: AnyPodGroup, trial: _Trial) -> _Trial:
        """Place the pods of a trial again on the nodes that were found for them."""
        for key, (results, pods) in trial.results.items():
            part = self._parts[key]
            if not pods:
                part.results = results
                continue
            status = part.place_again(results, pods)
            if status is not None:
                self._undo(group)
                return self._kept(group, {group.entity_key: status})
        return trial
