"""One attempt to schedule a pod group, from its pop from the queue to the binds of its pods.

    queue ─▶ checks ─▶ placing: each pod decided, assumed, reserved ─▶ Permit ─▶ bind, pod by pod
                │            │
              fail ◀──── undone, PodGroupPostFilter

The steps of each pod are those of a single pod (`schedule_one`).

# kube-scheduler: schedule_one_podgroup.go
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from mooring.api import (
    AnyPodGroup,
    CompositePodGroup,
    Condition,
    Pod,
    WorkloadPodGroup,
    scheduling_group_key,
)
from mooring.binding.pod_group_status_writer import GroupStatusWriter
from mooring.cache.cache import Cache
from mooring.cycle.group_points import run_pod_group_post_filter
from mooring.cycle.placement_search import GROUP_UNSCHEDULABLE
from mooring.cycle.profile import Profile
from mooring.errors import cut_text
from mooring.framework.features import FeatureGates
from mooring.framework.placements import MemberRefusal, NominatePods
from mooring.framework.pod_groups import PodGroups
from mooring.framework.status import Code, Status
from mooring.framework.tried_groups import TriedGroup
from mooring.observe import metrics as labels
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog
from mooring.observe.metrics import Metrics
from mooring.queue.pod_group_queue import GroupOutcome
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.scheduler.composite_placing import CompositePlacing
from mooring.scheduler.examined_group import ExaminedGroup, GroupExaminer
from mooring.scheduler.failure import Failure
from mooring.scheduler.pod_group_placing import GroupResult, MemberResult, PodGroupPlacing
from mooring.scheduler.schedule_one import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    SchedulingAttempt,
    SchedulingAttempts,
)

log = logging.getLogger(__name__)

INITIALLY_SCHEDULED = "PodGroupInitiallyScheduled"
SCHEDULED = "Scheduled"

_SCHEDULER_NAMES = (
    "all pods in a single pod group should have the same .spec.schedulerName set, "
    'got: "{}" and "{}"'
)
_PRIORITIES = (
    "all pods in a single pod group should have the same priority as the pod group's priority, "
    "got {} and {}"
)
_POLICIES = "all pods in a single pod group should have the same preemption policy, got {} and {}"
_GROUP_POLICY = (
    "all pods in a single pod group should have the same preemption policy as the pod group's "
    "preemption policy, got {} and {}"
)
_NO_PROFILE = 'profile not found for scheduler name "{}"'
_NO_GROUP = "pod group object not found for pod group {}"

_DEFAULT_POLICY = "PreemptLowerPriority"


class PodGroupAttempts:
    """The steps of attempts for pod groups, for all profiles. Owned by the scheduling loop."""

    def __init__(
        self,
        *,
        attempts: SchedulingAttempts,
        profiles: Mapping[str, Profile],
        cache: Cache,
        groups: PodGroups,
        status_writer: GroupStatusWriter,
        features: FeatureGates,
        clock: Clock,
        metrics: Metrics,
        examiner: GroupExaminer | None = None,
    ) -> None:
        """Prepare attempts; `examiner` may want to know what they look at."""
        self._attempts = attempts
        self._examiner = examiner
        self._profiles = profiles
        self._cache = cache
        self._groups = groups
        self._status_writer = status_writer
        self._clock = clock
        self._metrics = metrics
        self._policy_of_group = features.enabled("PodGroupPreemptionPolicy")

    async def schedule(
        self, info: QueuedPodGroupInfo, *, timed: bool
    ) -> Sequence[SchedulingAttempt]:
        """Try a group; return the attempts whose binding cycles are to follow."""
        start = self._clock.now()
        info.victims, info.counted = (), {}
        if self._attempts.taps is not None:
            self._attempts.taps.group_begins(info, start)
        group = self._groups.latest(info.group)
        if group is None:
            self.fail(info, _NO_GROUP.format(info.group.key))
            return ()
        info.group = group
        members = info.in_order()
        problem = self._disagreement(group, members)
        if problem:
            self.fail(info, problem)
            return ()
        profile = self._profiles[members[0].pod.spec.scheduler_name]
        members = [one for one in members if not self._attempts.skip(one)]
        if not members:
            self._end(info, GroupOutcome.SCHEDULED)
            return ()
        vlog(log, 3, _ATTEMPTING, podGroupType=group.entity_type, podGroup=group)
        placing = self._placing(profile, group, members, timed, examine=self._examines(group))
        status = await placing.place()
        info.counted = placing.counted()
        info.refusers = frozenset((*placing.refusers, *_quorum_plugins(profile)))
        info.tree = placing.examined(status) if isinstance(placing, CompositePlacing) else None
        self._metrics.pod_group_scheduling_algorithm_duration.observe(self._clock.now() - start)
        if status is None:
            self._tell_examiner(info, placing.examined(None), placing.pods, None)
            return self._scheduled(info, placing, start)
        answer: NominatePods | Status | None = None
        if status.code is Code.UNSCHEDULABLE:
            answer = await self._post_filter(placing, members, timed)
        self._unscheduled(info, placing, status, answer, start)
        return ()

    def _placing(
        self,
        profile: Profile,
        group: AnyPodGroup,
        members: Sequence[QueuedPodInfo],
        timed: bool,
        refusals: Sequence[MemberRefusal] = (),
        examine: bool = False,
    ) -> PodGroupPlacing:
        is_composite = isinstance(group, CompositePodGroup)
        make = CompositePlacing if is_composite else PodGroupPlacing
        return make(
            self._attempts,
            self._cache,
            self._groups,
            self._clock,
            profile=profile,
            group=group,
            members=members,
            timed=timed,
            refusals=refusals,
            examine=examine,
        )

    def _examines(self, group: AnyPodGroup) -> bool:
        """Return whether to record the details of a group's attempts."""
        return self._examiner is not None and self._examiner.wants(group)

    def _tell_examiner(
        self,
        info: QueuedPodGroupInfo,
        tried: TriedGroup,
        pods: Sequence[Pod],
        status: Status | None,
    ) -> None:
        if self._examiner is not None and self._examiner.wants(info.group):
            self._examiner.take(ExaminedGroup(tried, info.attempts, pods, status))

    # Checks.

    def _disagreement(self, group: AnyPodGroup, members: Sequence[QueuedPodInfo]) -> str:
        """Return in what the pods of a group differ that must be equal; "" if in nothing."""
        name = members[0].pod.spec.scheduler_name
        policy = _policy(group.spec.preemption_policy) if self._policy_of_group else ""
        for pod in (*(one.pod for one in members), *self._placed(group)):
            if pod.spec.scheduler_name != name:
                return _SCHEDULER_NAMES.format(pod.spec.scheduler_name, name)
            if pod.priority != group.priority:
                return _PRIORITIES.format(pod.priority, group.priority)
            own = _policy(pod.spec.preemption_policy)
            if policy and own != policy:
                text = _GROUP_POLICY if self._policy_of_group else _POLICIES
                return text.format(own, policy)
            policy = policy or own
        return "" if name in self._profiles else _NO_PROFILE.format(name)

    def _placed(self, group: AnyPodGroup) -> Iterable[Pod]:
        return (info.pod for info in self._groups.placed_in(group))

    # The end of an attempt.

    def _scheduled(
        self, info: QueuedPodGroupInfo, placing: PodGroupPlacing, start: float
    ) -> Sequence[SchedulingAttempt]:
        outcomes = placing.outcomes(None)
        permitted: dict[str, list[SchedulingAttempt]] = {}
        for outcome in outcomes:
            if outcome.status is None:
                permitted[outcome.group.key] = self._permit(outcome)
            else:
                # A part of a composite group that does not fit, and that need not.
                self._report(outcome, outcome.status, outcome.status, None)
        lacking = {part.key for part in self._without_quorum(placing, placing.group)}
        if not any(permitted.values()):
            lacking = set(permitted)
        for outcome in outcomes:
            if outcome.group.key in lacking & permitted.keys():
                attempts = permitted.pop(outcome.group.key)
                self._too_few_permitted(outcome.group, placing, attempts)
        if not any(permitted.values()):
            self._observe(labels.UNSCHEDULABLE, placing.profile, start)
            self._end(info, GroupOutcome.UNSCHEDULABLE)
            return ()
        for outcome in outcomes:
            if outcome.group.key in permitted:
                self._tell_scheduled(outcome, len(permitted[outcome.group.key]))
        self._observe(labels.SCHEDULED, placing.profile, start)
        self._end(info, GroupOutcome.SCHEDULED)
        return [attempt for attempts in permitted.values() for attempt in attempts]

    def _permit(self, outcome: GroupResult) -> list[SchedulingAttempt]:
        """Run Permit for the pods of a group that have a node, and report the others."""
        permitted: list[SchedulingAttempt] = []
        for result in outcome.results:
            if result.attempt is None:
                assert result.failure is not None
                self._attempts.fail(result.info, result.failure, result.start)
                continue
            # From now on the pod is bound like any other.
            result.attempt.state.pod_group_state = None
            if self._attempts.permit(result.attempt) is None:
                permitted.append(result.attempt)
        return permitted

    def _tell_scheduled(self, outcome: GroupResult, scheduled: int) -> None:
        pairs = {"scheduledPods": scheduled, "unschedulablePods": len(outcome.results) - scheduled}
        vlog(log, 2, "Successfully scheduled a pod group", podGroup=outcome.group, **pairs)
        self._tell(outcome.group, "True", SCHEDULED, "")

    def _without_quorum(
        self, placing: PodGroupPlacing, group: AnyPodGroup
    ) -> Iterable[WorkloadPodGroup]:
        """Yield the pod groups that have, or are part of a group that has, too few pods placed."""
        groups = self._groups
        ready = groups.count_ready(group, groups.count_placed)
        if placing.feasible(ready, 0, group) is not None:
            yield from groups.leaves(group)
            return
        for child in groups.children(group):
            yield from self._without_quorum(placing, child)

    def _too_few_permitted(
        self,
        group: WorkloadPodGroup,
        placing: PodGroupPlacing,
        permitted: Sequence[SchedulingAttempt],
    ) -> None:
        """Take the nodes from the pods of a gang of which too few have passed Permit.

        kube-scheduler lets them wait at Permit for five minutes.
        """
        groups, root = self._groups, placing.group
        status = placing.feasible(groups.count_ready(root, groups.count_placed), 0)
        message = GROUP_UNSCHEDULABLE if status is None else status.message
        for attempt in permitted:
            failure = self._group_failure(
                attempt.info, Status.unschedulable(), f"{GROUP_UNSCHEDULABLE}, {message}"
            )
            self._attempts.give_back(attempt, Status.unschedulable(message))
            self._attempts.fail(attempt.info, failure, attempt.start)
        vlog(log, 2, _UNABLE, podGroup=group, err=message)
        members = [one.info for one in permitted]
        self._tell(group, "False", UNSCHEDULABLE, message, members)

    async def _post_filter(
        self, placing: PodGroupPlacing, members: Sequence[QueuedPodInfo], timed: bool
    ) -> NominatePods | Status:
        """Run PodGroupPostFilter; return what it nominates, or why it cannot help."""
        group, profile = placing.group, placing.profile
        trial = self._placing(profile, group, members, timed, placing.refusals)
        try:
            return await run_pod_group_post_filter(profile, placing.state, group, trial)
        finally:
            trial.reset()

    def _unscheduled(
        self,
        info: QueuedPodGroupInfo,
        placing: PodGroupPlacing,
        status: Status,
        answer: NominatePods | Status | None,
        start: float,
    ) -> None:
        """Report a failed attempt.

        `status` is why the group does not fit; `answer` is what PodGroupPostFilter did.
        """
        nominations = answer if isinstance(answer, NominatePods) else None
        info.victims = () if nominations is None else tuple(p.key for p in nominations.victims)
        said = answer.status if isinstance(answer, NominatePods) else answer
        for outcome in placing.outcomes(status):
            assert outcome.status is not None
            self._report(outcome, outcome.status, _with_answer(outcome.status, said), nominations)
        final = _with_answer(status, said)
        self._tell_examiner(info, placing.examined(status), placing.pods, final)
        if final.is_error:
            result_label, result = labels.ERROR, GroupOutcome.ERROR
        else:
            waits = nominations is not None
            result_label = labels.WAITING_ON_PREEMPTION if waits else labels.UNSCHEDULABLE
            result = GroupOutcome.UNSCHEDULABLE
        self._observe(result_label, placing.profile, start)
        self._end(info, result)

    def _report(
        self, outcome: GroupResult, status: Status, final: Status, nominations: NominatePods | None
    ) -> None:
        """Report why one group does not fit, to its pods and in its condition.

        `final` says also what PodGroupPostFilter did.
        """
        nodes = {} if nominations is None else nominations.node_names
        waits = nominations is not None
        for result in outcome.results:
            failure = self._failure(result, final, waits=waits)
            failure.nominated = nodes.get(result.info.uid, failure.nominated)
            self._attempts.fail(result.info, failure, result.start)
        for member in outcome.members[len(outcome.results) :]:
            reported = final if final.is_error else status
            failure = self._group_failure(member, reported, reported.message)
            failure.nominated = nodes.get(member.uid)
            self._attempts.fail(member, failure, self._clock.now())
        group, message = outcome.group, final.message
        if final.is_error:
            log_error(log, message, "Error scheduling pod group", podGroup=group)
            self._tell(group, "False", SCHEDULER_ERROR, message, outcome.members)
            return
        text = "Pod group is waiting for preemption" if waits else _UNABLE
        pods = len(outcome.members)
        vlog(log, 2, text, podGroup=group, unschedulablePods=pods, err=message)
        self._tell(group, "False", UNSCHEDULABLE, message, outcome.members)

    def fail(self, info: QueuedPodGroupInfo, message: str) -> None:
        """Put a whole group back because of an error, and report it."""
        now = self._clock.now()
        for member in info.in_order():
            self._attempts.fail(member, Failure(message, rejected=False), now)
        pods = [member.pod for member in info.in_order()]
        error = Status.error(message)
        tried = TriedGroup(info.group, error)
        info.tree = tried if isinstance(info.group, CompositePodGroup) else None
        self._tell_examiner(info, tried, pods, error)
        root = self._groups.latest(info.group)
        for group in () if root is None else self._groups.leaves(root):
            members = [one for one in info.in_order() if scheduling_group_key(one.pod) == group.key]
            self._tell(group, "False", SCHEDULER_ERROR, message, members)
        self._end(info, GroupOutcome.ERROR)

    def _failure(self, result: MemberResult, status: Status, *, waits: bool) -> Failure:
        """Return the failure of a pod that was tried in a group that was not scheduled."""
        failure = result.failure
        if status.is_error:
            if failure is not None and not failure.rejected:
                return failure
            return self._group_failure(result.info, status, status.message)
        if failure is not None:
            return failure
        message = status.message if waits else f"{GROUP_UNSCHEDULABLE}, {status.message}"
        return self._group_failure(result.info, status, message)

    def _group_failure(self, info: QueuedPodInfo, status: Status, message: str) -> Failure:
        """Return the failure of a pod that shares its group's fate."""
        if status.is_error:
            failure = Failure(message, rejected=False)
            failure.faults = (status,)
            return failure
        refusers = _quorum_plugins(self._profiles[info.pod.spec.scheduler_name])
        return Failure(message, rejected=True, of_group=True, unschedulable=refusers)

    def _end(self, info: QueuedPodGroupInfo, outcome: GroupOutcome) -> None:
        if self._attempts.taps is not None:
            self._attempts.taps.group_ends(info, outcome)
        self._attempts.queue.group_attempted(info, outcome)

    def _tell(
        self,
        group: WorkloadPodGroup,
        status: str,
        reason: str,
        message: str,
        members: Iterable[QueuedPodInfo] = (),
    ) -> None:
        """Write the condition of a group, after those of the members that failed."""
        condition = Condition(
            type=INITIALLY_SCHEDULED, status=status, reason=reason, message=cut_text(message)
        )
        self._status_writer.write(group, condition, [member.uid for member in members])

    def _observe(self, result: str, profile: Profile, start: float) -> None:
        seconds = self._clock.now() - start
        self._metrics.pod_group_scheduling_attempt_duration[result, profile.name].observe(seconds)
        self._metrics.pod_group_schedule_attempts[result, profile.name].inc()


_ATTEMPTING = "Attempting to schedule pod group"
_UNABLE = "Unable to schedule a pod group"


def _with_answer(status: Status, said: Status | None) -> Status:
    """Return why a group was not scheduled, with the status that PodGroupPostFilter returned."""
    if said is None:
        return status
    # kube-scheduler appends the text even if it is empty.
    return said if said.is_error else Status.unschedulable(*status.reasons, said.message)


def _policy(policy: str | None) -> str:
    return policy or _DEFAULT_POLICY


def _quorum_plugins(profile: Profile) -> tuple[str, ...]:
    """Return the plugins that decide whether enough of a group fits.

    They count as the refusers of members that were not refused themselves. Without such a plugin,
    any event may help.
    """
    return tuple(step.name for step in profile.placement_feasible) or ("",)
