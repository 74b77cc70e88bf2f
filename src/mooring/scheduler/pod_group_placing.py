"""PodGroupPlacing: places the pods of one group one after another, and can undo it.

Pods are assumed in the cache and reserved, so each sees those before it: the columns of their nodes
change in place. Undoing forgets them again, the last one first, which changes the same rows back;
the snapshot is never copied. If the group fits, the pods stay where they are and go on to Permit.

Several placements are searched together if the pods allow it (`cycle/placement_search.py`), and
only the one that is chosen is carried out; otherwise each is carried out and undone.

# kube-scheduler: schedule_one_podgroup.go (podGroupSchedulingDefaultAlgorithm)
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from mooring.api import AnyPodGroup, Pod, WorkloadPodGroup
from mooring.binding.binding_cycle import AssumedPod
from mooring.binding.binding_points import run_reserve, run_unreserve
from mooring.cache.cache import Cache
from mooring.cycle.group_points import run_placement_feasible
from mooring.cycle.placement_points import (
    PlacementRanking,
    run_placement_generate,
    run_placement_score,
)
from mooring.cycle.placement_search import GROUP_UNSCHEDULABLE, Course, Trial
from mooring.cycle.profile import Profile
from mooring.framework.decision import Decision, Outcome
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.placements import (
    GroupAssignments,
    MemberRefusal,
    Placement,
    PlacementProgress,
)
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.tried_groups import TriedGroup, TriedPlacement, TriedPod
from mooring.framework.what_if import one_row
from mooring.observe.clock import Clock
from mooring.observe.logs import vlog
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.failure import Failure
from mooring.scheduler.schedule_one import SchedulingAttempt, SchedulingAttempts

log = logging.getLogger(__name__)

NONE_AVAILABLE = "0/{} placements are available, first placement status: {}"
OTHER_FAILED = "failed to schedule other pod from a pod group: {}"
NOT_EVALUATED = "failed to evaluate placement feasibility: {}"


_FEASIBLE = "feasible"
_INFEASIBLE = "infeasible"


class MemberResult(msgspec.Struct):
    """What became of one pod of a group in an attempt."""

    info: QueuedPodInfo
    #: When the attempt for the pod began.
    start: float
    #: The attempt, if the pod has found a node.
    attempt: SchedulingAttempt | None = None
    #: Why it has found none.
    failure: Failure | None = None
    #: The node that it has found.
    node_name: str = ""
    #: Which of the pod's scheduling cycles in this attempt it is, from 0.
    cycle: int = 0


class GroupResult(msgspec.Struct, frozen=True):
    """What became of one pod group in an attempt, which may be for several."""

    group: WorkloadPodGroup
    members: Sequence[QueuedPodInfo]
    #: One for each pod that was tried, in the order of `members`.
    results: Sequence[MemberResult]
    #: Why the group does not fit; None if it does.
    status: Status | None


class PodGroupPlacing:
    """The placing of one group's pods. Owned by the group's attempt."""

    def __init__(
        self,
        attempts: SchedulingAttempts,
        cache: Cache,
        groups: PodGroups,
        clock: Clock,
        *,
        profile: Profile,
        group: AnyPodGroup,
        members: Sequence[QueuedPodInfo],
        timed: bool,
        refusals: Sequence[MemberRefusal] = (),
        examine: bool = False,
        is_part: bool = False,
    ) -> None:
        """Prepare the placing of `members`; a trial gets the `refusals` of the attempt before.

        With `examine`, `tried` holds what became of each placement; the outcome is the same. A
        group that `is_part` of a composite group fits even if no further pod is placed.
        """
        self.group = group
        self._is_part = is_part
        self.profile = profile
        #: The state that the group's points share.
        self.state = CycleState()
        self.state.record_plugin_metrics = timed
        #: The pods that were tried and found no node.
        self.refusals: list[MemberRefusal] = list(refusals)
        #: The plugins that refused a node for any pod, in any placement.
        self.refusers: set[str] = set()
        #: One for each pod that was tried, in order.
        self.results: list[MemberResult] = []
        #: The name of the placement that `results` describe.
        self._placement_name = ""
        #: The placements in the order in which they were generated, if they are examined.
        self.tried: list[TriedPlacement] = []
        self._examine = examine
        self._attempts = attempts
        self._cache = cache
        self._groups = groups
        self._clock = clock
        self._members = members
        self._timed = timed
        self._metrics = profile.handle.metrics
        self._topology = profile.handle.features.enabled("TopologyAwareWorkloadScheduling")
        #: By uid, how many scheduling cycles each pod has had.
        self._cycles: Counter[str] = Counter()
        #: The pods that were removed for a trial, by uid.
        self._lifted: dict[str, PodInfo] = {}

    @property
    def pods(self) -> Sequence[Pod]:
        """The pods of the group that have no node."""
        return [member.pod for member in self._members]

    @property
    def assignments(self) -> Sequence[tuple[PodInfo, str]]:
        """The pods that are placed, each with the node's name."""
        info = self.profile.handle.pod_info
        return [(info(one.pod), one.node_name) for one in self.placed()]

    def outcomes(self, status: Status | None) -> Sequence[GroupResult]:
        """Return what became of each pod group, if `place` has returned this status."""
        assert isinstance(self.group, WorkloadPodGroup)
        return (GroupResult(self.group, self._members, self.results, status),)

    def counted(self) -> dict[str, int]:
        """Return by uid which cycle of each pod the results come from, if it was tried there."""
        return {one.info.uid: one.cycle for one in self.results}

    def examined(self, status: Status | None) -> TriedGroup:
        """Return the record of the attempt; `status` is what `place` has returned."""
        running = self._groups.count_placed(self.group.key) - len(self.placed())
        placements = self.tried or [self._summary(status)]
        return TriedGroup(self.group, status, tuple(placements), running, len(self._members))

    def _summary(self, status: Status | None) -> TriedPlacement:
        """Return a record of the placement that `results` describe; used if none was examined."""
        return TriedPlacement(
            self._placement_name, 0, self._tried_pods(), status, is_chosen=status is None
        )

    async def place(self, within: Rows | None = None) -> Status | None:
        """Place the pods on these rows, or anywhere; return why the group does not fit, or None.

        If it fits, the pods are assumed; otherwise none is.
        """
        self.undo()
        self.tried.clear()
        self._placement_name = ""
        nodes = self.profile.handle.snapshot
        if within is not None:
            nodes = nodes.select(within)
        if not self._topology:
            status = await self._place_in(within)
            self._note("", nodes, status, is_only=True)
            return status
        placements = self._generate(self.group, nodes)
        if isinstance(placements, Status):
            self.results = []
            return placements
        self._metrics.generated_placements[self.profile.name].inc(len(placements))
        trials = self._search(nodes, placements) if len(placements) > 1 else None
        if trials is None:
            return await self._place_in_best(nodes, placements)
        return await self._place_as_found(nodes, placements, trials)

    def _generate(self, group: AnyPodGroup, nodes: Nodes) -> Sequence[Placement] | Status:
        """Return the placements of a group.

        If none of them is all nodes, the plugin that proposed them counts among those that refused
        a pod, because the group may fit in another one.
        """
        found = run_placement_generate(self.profile, self.state, group, nodes)
        if isinstance(found, Status) or not any(one.mask.all() for one in found):
            self.refusers |= {step.name for step in self.profile.placement_generate[:1]}
        return found

    async def _place_in_best(self, nodes: Nodes, placements: Sequence[Placement]) -> Status | None:
        """Try the group in every placement; leave it placed in the best one."""
        self.tried.clear()
        self._placement_name = placements[0].name if placements else ""
        fitting: list[tuple[GroupAssignments, list[MemberResult]]] = []
        numbers: list[int] = []
        first: tuple[Status, list[MemberResult]] | None = None
        for number, placement in enumerate(placements):
            part = nodes.where(placement.mask)
            status = await self._evaluate(placement, part, is_only=len(placements) == 1)
            if status is not None and status.is_error:
                return status
            if status is None:
                if len(placements) == 1:
                    return None
                pods = self.assignments
                self.undo()
                fitting.append((GroupAssignments(placement.name, part, pods), self.results))
                numbers.append(number)
            elif first is None:
                first = status, self.results
        if not fitting:
            assert first is not None
            status, self.results = first
            if _is_enough(status):
                return status
            return none_available(len(placements), status)
        chosen = self._choose([found for found, _ in fitting], numbers)
        if isinstance(chosen, Status):
            self.results = []
            return chosen
        found, results = fitting[chosen]
        self._placement_name = found.placement
        return self.place_again(results, found.pods)

    # Placements that are searched together.

    def _search(self, nodes: Nodes, placements: Sequence[Placement]) -> Sequence[Trial] | None:
        """Search all placements together; None if these pods do not allow it."""
        start = self._clock.now()
        trials = [Trial(_rows(nodes.where(one.mask)), self._course()) for one in placements]
        searched = self._attempts.search_placements(
            self.profile, self.pods, trials, self._new_state, self.refusers
        )
        statuses = [trial.course.status for trial in trials]
        if not searched or any(one is not None and one.is_error for one in statuses):
            return None
        seconds = (self._clock.now() - start) / len(trials)
        for placement, status in zip(placements, statuses, strict=True):
            self._observe(placement, status, seconds)
        return trials

    async def _place_as_found(
        self, nodes: Nodes, placements: Sequence[Placement], trials: Sequence[Trial]
    ) -> Status | None:
        """Place the group in the best of the placements that a search has tried."""
        if self._examine:
            await self._examine_trials(nodes, placements, trials)
        numbers = [number for number, trial in enumerate(trials) if trial.course.status is None]
        if not numbers:
            # Carry out the first one, for what each pod is told.
            self._placement_name = placements[0].name
            status = await self._place_in(trials[0].rows)
            if status is None or not status.is_rejected:
                return status
            return none_available(len(placements), status)
        fitting = [self._found(placements[number], trials[number]) for number in numbers]
        chosen = self._choose(fitting, numbers)
        if isinstance(chosen, Status):
            self.results = []
            return chosen
        self._placement_name = fitting[chosen].placement
        if await self._carry_out(trials[numbers[chosen]]):
            return None
        return await self._place_in_best(nodes, placements)

    def _found(self, placement: Placement, trial: Trial) -> GroupAssignments:
        nodes, info = self.profile.handle.snapshot, self.profile.handle.pod_info
        pods = [
            (info(member.pod), nodes.info(row).name)
            for member, row in zip(self._members, trial.chosen, strict=False)
            if row >= 0
        ]
        return GroupAssignments(placement.name, nodes.select(trial.rows), pods)

    async def _carry_out(self, trial: Trial) -> bool:
        """Place the pods on the nodes that a search found; return whether that succeeded."""
        self.results = []
        succeeded = False
        try:
            for member, row in zip(self._members, trial.chosen, strict=False):
                rows = trial.rows if row < 0 else np.array([row], dtype=np.intp)
                result = await self._try(member, rows)
                self.results.append(result)
                if row >= 0 and result.attempt is None:
                    return False
            succeeded = True
        finally:
            if not succeeded:
                self.undo()
        return succeeded

    # What is told about placements.

    async def _examine_trials(
        self, nodes: Nodes, placements: Sequence[Placement], trials: Sequence[Trial]
    ) -> None:
        """Carry out every trial of a search and undo it, to know what each pod is told."""
        for placement, trial in zip(placements, trials, strict=True):
            await self._carry_out(trial)
            self.undo()
            self._note(placement.name, nodes.where(placement.mask), trial.course.status)

    def _note(
        self, name: str, nodes: Nodes, status: Status | None, *, is_only: bool = False
    ) -> None:
        """Record what became of the pods in a placement, if that is examined."""
        if self._examine:
            chosen = is_only and status is None
            self.tried.append(
                TriedPlacement(name, len(nodes), self._tried_pods(), status, is_chosen=chosen)
            )

    def _tried_pods(self) -> list[TriedPod]:
        return [
            TriedPod(
                one.info.pod, one.node_name, "" if one.failure is None else one.failure.message
            )
            for one in self.results
        ]

    async def _evaluate(
        self, placement: Placement, nodes: Nodes, *, is_only: bool
    ) -> Status | None:
        start = self._clock.now()
        status = await self._place_in(nodes.rows)
        self._observe(placement, status, self._clock.now() - start)
        self._note(placement.name, nodes, status, is_only=is_only)
        return status

    def _observe(self, placement: Placement, status: Status | None, seconds: float) -> None:
        """Record what became of a placement; errors are not results."""
        if status is None or status.is_rejected:
            result = _FEASIBLE if status is None or _is_enough(status) else _INFEASIBLE
            metrics, profile = self._metrics, self.profile.name
            metrics.placement_evaluations[result, profile].inc()
            metrics.placement_evaluation_duration[result, profile].observe(seconds)
            vlog(log, 4, "Placement evaluated", placement=placement.name, result=result)

    def _choose(self, fitting: Sequence[GroupAssignments], numbers: Sequence[int]) -> int | Status:
        """Return the position of the best placement; `numbers` are those of the placements."""

        def scored(ranking: PlacementRanking) -> None:
            record_scores(ranking, [self.tried[number] for number in numbers])

        chosen = choose_placement(
            self.profile, self.state, self.group, fitting, scored if self._examine else None
        )
        if self._examine and not isinstance(chosen, Status):
            self.tried[numbers[chosen]].is_chosen = True
        return chosen

    def place_again(
        self, results: list[MemberResult], pods: Sequence[tuple[PodInfo, str]]
    ) -> Status | None:
        """Assume and reserve pods again on the nodes that were found for them."""
        self.results = results
        nodes = {info.uid: node_name for info, node_name in pods}
        for result in results:
            attempt = result.attempt
            if attempt is None:
                continue
            decision = Decision(attempt.info.pod, self.profile.name, Outcome.SCHEDULED)
            decision.node_name = nodes[attempt.info.uid]
            status = self._attempts.assume(attempt, decision)
            if status is not None:
                self._attempts.give_back(attempt, status)
                attempt.assumed = None
                self.undo()
                return Status.error(OTHER_FAILED.format(status.message))
        return None

    async def _place_in(self, within: Rows | None) -> Status | None:
        """Place the pods on these rows, or on all; return why the group does not fit, or None."""
        self.results = []
        try:
            status = await self._place(within)
        except BaseException:
            self.undo()
            raise
        if status is not None:
            self.undo()
        return status

    def undo(self) -> None:
        """Take every placed pod off its node, the last one first."""
        for result in reversed(self.results):
            if result.attempt is not None and result.attempt.assumed is not None:
                self._attempts.give_back(result.attempt, Status.unschedulable())
                result.attempt.assumed = None

    def reset(self) -> None:
        """Undo everything: the placed pods, and those that were removed for a trial."""
        self.undo()
        while self._lifted:
            _, info = self._lifted.popitem()
            self._cache.lower_pod(info)

    def remove(self, pods: Sequence[PodInfo]) -> None:
        """Take pods off their nodes."""
        for info in pods:
            self._cache.lift_pod(info)
            self._lifted[info.uid] = info

    def put_back(self, pods: Sequence[PodInfo]) -> bool:
        """Put removed pods back, unless a placed pod would no longer pass Filter.

        Return whether they are back.
        """
        for info in pods:
            del self._lifted[info.uid]
            self._cache.lower_pod(info)
        if self._still_fit(pods):
            return True
        self.remove(pods)
        return False

    def _still_fit(self, others: Sequence[PodInfo]) -> bool:
        """Return whether all placed pods pass Filter on their nodes beside pods that came back."""
        handle, placed = self.profile.handle, self.placed()
        counting = [one for one in placed if handle.precomputes(one.state)]
        if not counting:
            # What a plugin says of a node depends on that node alone.
            names = {info.pod.spec.node_name for info in others}
            placed = [one for one in placed if one.node_name in names]
        change = [(one, info) for one in counting for info in others]
        failed = any(self._told(handle.run_add_pod, *pair) for pair in change)
        fits = not failed and self._pass_again(placed)
        if not fits:
            for pair in change:
                self._told(handle.run_remove_pod, *pair)
        return fits

    def _told(self, run: Callable[..., Status | None], one: AssumedPod, other: PodInfo) -> bool:
        """Tell the plugins of a placed pod that another pod came or went; True if one failed."""
        node = self.profile.handle.snapshot.find(other.pod.spec.node_name)
        return node is None or run(one.state, one.pod, other, node) is not None

    def _pass_again(self, placed: Sequence[AssumedPod]) -> bool:
        """Return whether placed pods pass Filter if they are placed again in their order."""
        for one in reversed(placed):
            run_unreserve(one.profile, one.state, one.pod, one.node_name)
            self._lift(one)
        fits = True
        for one in placed:
            fits = fits and self._passes(one)
            info = self._cache.pod(one.pod.metadata.uid)
            assert info is not None
            self._cache.lower_pod(info)
            run_reserve(one.profile, one.state, one.pod, one.node_name)
        return fits

    def _lift(self, one: AssumedPod) -> None:
        info = self._cache.pod(one.pod.metadata.uid)
        assert info is not None
        self._cache.lift_pod(info)

    def _passes(self, one: AssumedPod) -> bool:
        handle = self.profile.handle
        nodes = handle.snapshot
        view = one_row(nodes, nodes.row(one.node_name))
        return handle.run_filters(one.state, one.pod, view)[0] is None

    def placed(self) -> list[AssumedPod]:
        """Return the pods that are placed."""
        return [
            assumed
            for result in self.results
            if result.attempt is not None and (assumed := result.attempt.assumed) is not None
        ]

    async def _place(self, within: Rows | None) -> Status | None:
        course = self._course()
        for member in self._members:
            if course.is_over:
                break
            result = await self._try(member, within)
            self.results.append(result)
            if result.failure is not None and not result.failure.rejected:
                return Status.error(OTHER_FAILED.format(result.failure.message))
            course.tried(fits=result.attempt is not None)
        return course.end()

    def _course(self) -> Course:
        placed = len(self._groups.placed(self.group.key))
        return Course(self.feasible, placed, len(self._members), may_be_empty=self._is_part)

    def feasible(
        self, scheduled: int, remaining: int, group: AnyPodGroup | None = None
    ) -> Status | None:
        """Run PlacementFeasible for this group, or for one below it."""
        group, progress = group or self.group, PlacementProgress(scheduled, remaining)
        status = run_placement_feasible(self.profile, self.state, group, progress)
        if status is not None and status.is_error:
            return Status.error(NOT_EVALUATED.format(status.message))
        return status

    def _new_state(self) -> CycleState:
        """Return the state of a new attempt for a pod."""
        state = CycleState()
        state.record_plugin_metrics = self._timed
        state.pod_group_state = self.state
        return state

    async def _try(self, member: QueuedPodInfo, within: Rows | None) -> MemberResult:
        start = self._clock.now()
        state = self._new_state()
        cycle = self._cycles[member.uid]
        self._cycles[member.uid] += 1
        decision = await self._attempts.decide(
            member, state, start, post_filter=False, within=within
        )
        if decision.outcome is not Outcome.SCHEDULED:
            self.refusers |= decision.unschedulable_plugins
            if decision.statuses is not None:
                self.refusals.append(MemberRefusal(member.pod, state, decision.statuses))
            return MemberResult(member, start, failure=Failure.in_group(decision), cycle=cycle)
        attempt = SchedulingAttempt(member, self.profile, state, start)
        status = self._attempts.assume(attempt, decision)
        if status is not None:
            self._attempts.give_back(attempt, status)
            return MemberResult(member, start, failure=Failure.on_node(status), cycle=cycle)
        return MemberResult(member, start, attempt, node_name=decision.node_name, cycle=cycle)


def choose_placement(
    profile: Profile,
    state: CycleState,
    group: AnyPodGroup,
    fitting: Sequence[GroupAssignments],
    scored: Callable[[PlacementRanking], None] | None = None,
) -> int | Status:
    """Return the position of the best placement; of equals, a random one.

    `scored` is called with the scores if there are any.
    """
    if len(fitting) == 1:
        return 0
    ranking = run_placement_score(profile, state, group, fitting)
    if isinstance(ranking, Status):
        return ranking
    if scored is not None:
        scored(ranking)
    totals = ranking.totals
    best: list[int] = np.flatnonzero(totals == totals.max()).tolist()
    return profile.handle.random.choice(best)


def record_scores(ranking: PlacementRanking, placements: Sequence[TriedPlacement]) -> None:
    """Record the scores of the fitting placements, which are in the order of the ranking."""
    for position, tried in enumerate(placements):
        tried.total = int(ranking.totals[position])
        tried.scores = {name: int(x[position]) for name, x in ranking.scores.items()}


def none_available(count: int, first: Status) -> Status:
    """Return the refusal of a group that fits in none of so many placements."""
    return Status.unschedulable(GROUP_UNSCHEDULABLE, NONE_AVAILABLE.format(count, _said(first)))


def _is_enough(status: Status) -> bool:
    """Return whether enough pods run already in a placement that takes no further one.

    Such a placement counts as feasible. It is the only one: pods that run determine the domain.
    """
    return status.reasons == (GROUP_UNSCHEDULABLE,)


def _rows(nodes: Nodes) -> Rows:
    return np.arange(len(nodes), dtype=np.intp) if nodes.rows is None else nodes.rows


def _said(status: Status) -> str:
    """Return the text of a refusal; kube-scheduler shortens one that begins with the group's."""
    first = status.reasons[0] if status.reasons else ""
    return first if first == GROUP_UNSCHEDULABLE else status.message
