"""ReplayEngine: a scheduler whose state follows a journal, and which decides on request.

Informers, clock, random source and extenders give what the journal holds, and nothing is written.
Cache, queue, nominations and plugins are those of a live scheduler and are told the same things in
the same order: object changes, and what became of each attempt. So at the beginning of an attempt
their state is that of the recorded scheduler, and `decide` gives the decision that it took, or the
one that other rules give.

Periodic work of plugins runs when the recorded scheduler ran it, and gets the recorded answers.
PreBind and PostBind run only for the plugins of this package. These reach the API server through
their handle, which gives the recorded answers here, and their state depends on these answers. Other
plugins might reach any server.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mooring.api import KubeObject, Pod
from mooring.binding.binding_pods import PermitWait
from mooring.binding.binding_points import (
    run_permit,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
)
from mooring.cache.cache import CacheError
from mooring.config.rules import Rules
from mooring.cycle.profile import Profile, Step
from mooring.cycle.timing import SilentTimer
from mooring.framework.decision import Decision, Outcome
from mooring.framework.nodes import Rows
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.release_metrics import make_metrics
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.journal.entries import (
    AttemptBegins,
    Change,
    ExtenderAnswer,
    Failed,
    Fetched,
    GaveBack,
    PodUpdate,
    RecordedStatus,
)
from mooring.journal.left_out import SECRETS
from mooring.observe.attempt_random import AttemptRandom
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.replay.discarding_writers import DiscardedGroupStatuses, DiscardedStatuses
from mooring.replay.recorded_answers import RecordedAnswers, RecordedClient
from mooring.replay.recorded_extender import RecordedExtender
from mooring.replay.recorded_informers import RecordedInformers
from mooring.replay.recorded_work import RecordedHttpClient, RecordedWork
from mooring.replay.replay_clock import ReplayClock
from mooring.scheduler.failure import Failure
from mooring.scheduler.running_scheduler import DiscardedEvents
from mooring.scheduler.schedule_one import SchedulingAttempt
from mooring.scheduler.scheduler import Scheduler
from mooring.shadow.shadow import decide_beside
from mooring.virtual.driving import drive
from mooring.virtual.simulation_queue import SimulationQueue

log = logging.getLogger(__name__)

NO_PROFILE = 'no profile serves schedulerName "{}"; profiles: {}'
#: The index of pods by uid.
_UID = "replay/uid"

_OWN = "mooring."


class ReplayEngine:
    """A scheduler that replays a journal under some rules. Owned by its replay.

    With `lenient`, for rules other than the recorded ones, extenders accept nodes that they were
    not asked about.
    """

    def __init__(self, rules: Rules, *, lenient: bool = False) -> None:
        config, features = rules.config, rules.gates
        self.rules = rules
        self.clock = ReplayClock()
        self.answers = RecordedAnswers()
        self.works = RecordedWork(self.answers)
        self.random = AttemptRandom(0)
        self.informers = RecordedInformers()
        self.extenders = [
            RecordedExtender(one, lenient=lenient)
            for one in sorted(config.config.extenders, key=lambda one: one.ignorable)
        ]
        metrics = make_metrics(features)
        events = DiscardedEvents()
        self.scheduler = Scheduler(
            config,
            client=RecordedClient(self.informers, self.answers, lenient=lenient),
            http=RecordedHttpClient(self.answers, lenient=lenient),
            informers=self.informers,
            registry=rules.registry,
            features=features,
            clock=self.clock,
            random=self.random,
            metrics=metrics,
            events_of=lambda profile: events,
            extenders=self.extenders,
            read_only=True,
            periodic=self.works,
            # The journal shows which pod is next.
            make_queue=SimulationQueue,
            status_writer=DiscardedStatuses(),
            group_status_writer=DiscardedGroupStatuses(),
        )
        if self.informers.has(SECRETS):
            # A plugin reads them through a lister.
            self.answers.lacking.add("")
        self.pods = self.informers.store(Pod)
        scheduler = self.scheduler
        for profile in scheduler.profiles.values():
            # The metrics of a replay are not exposed.
            profile.recorder = SilentTimer(metrics, profile.name)
            profile.pre_bind = _own_steps(profile, profile.pre_bind)
            profile.post_bind = _own_steps(profile, profile.post_bind)
        self.attempts = scheduler.attempts
        self._pre_flights = features.enabled("NominatedNodeNameForExpectation")
        #: The latest attempt of each pod, until it is bound or gone, by uid.
        self._current: dict[str, SchedulingAttempt] = {}
        #: Attempts whose wait at Permit has ended, and whose PreBind has not run.
        self._permitted: list[SchedulingAttempt] = []
        #: The PreBind of pods that waits for answers, by uid.
        self._binding: dict[str, Coroutine[Any, Any, Any]] = {}
        #: The uids of reserved pods for which Permit has run.
        self._passed_permit: set[str] = set()

    def lacking(self, profile_name: str) -> Sequence[str]:
        """Return the plugins of a profile that got answers which the journal leaves out, sorted.

        "" stands for an unknown plugin.
        """
        lacking = self.answers.lacking
        if not lacking:
            return ()
        profile = self.scheduler.profiles.get(profile_name)
        plugins = () if profile is None else profile.plugins
        return sorted(name for name in lacking if not name or name in plugins)

    # The state.

    def take_in(self, change: Change | PodUpdate) -> bool:
        """Apply an object change; False if it contradicts the state: the journal lacks entries."""
        return self.take_in_object(change, self.informers.object_after(change))

    def take_in_object(self, change: Change | PodUpdate, obj: KubeObject | None) -> bool:
        """Apply an object change, as `take_in` does, with the object after it."""
        self.set_time(change.time)
        if obj is None:
            return False
        consistent = self.informers.apply(change, obj)
        self.scheduler.inbox.drain()
        return consistent

    def set_time(self, time: float) -> None:
        """Set the clock, and continue with the pods whose wait at Permit has ended."""
        self.clock.time = time
        self.answers.move_to(time)
        while self._permitted:
            self._pre_bind(self._permitted.pop(0))

    def find_pod(self, name: str, namespace: str, uid: str) -> Pod | None:
        """Return a pod; None if it does not exist, or if another one has its name."""
        pod: Pod | None = self.pods.get(name, namespace)
        return pod if pod is not None and pod.metadata.uid == uid else None

    def pods_of(self, uid: str) -> Iterable[Pod]:
        """Return the pod with a uid, if there is one."""
        # The index is made here because few journals need it and it slows down changes of pods.
        self.pods.add_index(_UID, lambda pod: (pod.metadata.uid,))
        found: Iterable[Pod] = self.pods.by_index(_UID, uid)
        return found

    # Attempts.

    def begin(self, entry: AttemptBegins, answers: Iterable[ExtenderAnswer] = ()) -> Pod | None:
        """Prepare the scheduling cycle of a recorded attempt; return its pod, or None if unknown.

        It can then be decided any number of times.
        """
        self.set_time(entry.time)
        self.scheduler.on_the_way.expire(entry.time)
        for extender in self.extenders:
            extender.expect(answers)
        return self.find_pod(entry.name, entry.namespace, entry.uid)

    def decide(self, entry: AttemptBegins, pod: Pod) -> Decision:
        """Decide the attempt that began; its outcome is applied by the calls that follow."""
        profile = self.scheduler.profiles.get(pod.spec.scheduler_name)
        if profile is None:
            self._current.pop(entry.uid, None)
            return self._unserved(pod)
        if entry.beside:
            return self._decide_beside(entry, pod)
        info = QueuedPodInfo(pod, entry.time, 0)
        info.attempts = entry.attempt
        attempt = SchedulingAttempt(info, profile, CycleState(), entry.time)
        self._current[entry.uid] = attempt
        self._set_start(entry)
        return self._drive(
            pod,
            self.attempts.decide(
                info,
                attempt.state,
                entry.time,
                post_filter=entry.post_filter,
                within=_within(entry),
            ),
        )

    def _decide_beside(self, entry: AttemptBegins, pod: Pod) -> Decision:
        """Decide as a shadow does: outside the queue, with all nodes filtered and scored."""
        self._set_start(entry)
        try:
            return decide_beside(self.scheduler, pod)
        except BaseException as error:
            return _failed(pod, error)

    def examine(self, entry: AttemptBegins, pod: Pod, *, post_filter: bool = False) -> Decision:
        """Decide the attempt that began with all nodes filtered and scored.

        This changes nothing, unless PostFilter runs.
        """
        if pod.spec.scheduler_name not in self.scheduler.profiles:
            return self._unserved(pod)
        search = self.scheduler.cycle.search
        before = self.random.state, search.next_start_node_index
        self._set_start(entry)
        try:
            return self._drive(
                pod,
                self.scheduler.cycle.run(
                    pod,
                    CycleState(),
                    examine=True,
                    post_filter=post_filter,
                    within=_within(entry),
                ),
            )
        finally:
            self.random.state, search.next_start_node_index = before

    def _unserved(self, pod: Pod) -> Decision:
        name = pod.spec.scheduler_name
        text = NO_PROFILE.format(name, ", ".join(sorted(self.scheduler.profiles)))
        return Decision(pod, name, Outcome.UNSCHEDULABLE, message=text)

    def _set_start(self, entry: AttemptBegins) -> None:
        self.random.state = entry.seed
        self.scheduler.cycle.search.next_start_node_index = entry.sampling_start

    def _drive(self, pod: Pod, cycle: Coroutine[Any, Any, Decision]) -> Decision:
        try:
            return drive(cycle)
        except BaseException as error:
            return _failed(pod, error)

    # What became of an attempt.

    def reserve(self, time: float, uid: str, node_name: str) -> str:
        """Assume a pod on a node and run Reserve; return the plugin that refused, or "".

        The pod stays assumed in any case. If no attempt of it is known, no plugin is asked.
        """
        self.set_time(time)
        attempt = self._current.get(uid)
        cache = self.scheduler.cache
        if attempt is None:
            for pod in self.pods_of(uid):
                if cache.pod(uid) is None:
                    cache.assume_pod(pod, node_name)
                    self.scheduler.nominator.delete(uid)
            return ""
        decision = Decision(attempt.info.pod, attempt.profile.name, Outcome.SCHEDULED)
        decision.node_name = node_name
        try:
            status = self.attempts.assume(attempt, decision)
        except CacheError as error:
            log.warning("The journal contradicts itself: %s", error)
            return ""
        return "" if status is None else status.plugin

    def permit(self, time: float, uid: str, waits: Mapping[str, float] | None = None) -> None:
        """Run Permit for a reserved pod, which then waits as recorded (`waits`, by plugin)."""
        self.set_time(time)
        attempt = self._current.get(uid)
        if attempt is None or attempt.assumed is None:
            return
        self._passed_permit.add(uid)
        assumed = attempt.assumed
        if attempt.profile.permit:
            run_permit(attempt.profile, attempt.state, assumed.pod, assumed.node_name)
        attempt.state.end_cycle()
        if waits:
            wait = assumed.wait = PermitWait(assumed.pod, waits, time)
            self.scheduler.on_the_way.add_waiting(wait)
            wait.when_done(lambda: self._wait_ended(attempt, wait))
        elif self._has_pre_bind_work(attempt):
            self._permitted.append(attempt)
        else:
            assumed.permitted = True

    def _wait_ended(self, attempt: SchedulingAttempt, wait: PermitWait) -> None:
        if wait.outcome is not None and wait.outcome.is_success:
            self._permitted.append(attempt)

    def _has_pre_bind_work(self, attempt: SchedulingAttempt) -> bool:
        """Return whether a PreBind plugin has something to do for a pod."""
        profile, assumed = attempt.profile, attempt.assumed
        assert assumed is not None
        if not profile.pre_bind or not self._pre_flights:
            return bool(profile.pre_bind)
        flights = run_pre_bind_pre_flights(profile, attempt.state, assumed.pod, assumed.node_name)
        return flights is None or not flights.is_skip

    def _pre_bind(self, attempt: SchedulingAttempt) -> None:
        assumed = attempt.assumed
        if assumed is None or assumed.permitted:
            return
        assumed.permitted = True
        self.scheduler.on_the_way.remove_waiting(assumed.pod.metadata.uid)
        if not self._has_pre_bind_work(attempt):
            return
        work = run_pre_bind(attempt.profile, attempt.state, assumed.pod, assumed.node_name)
        if not self.answers.start(work):
            self._binding[assumed.pod.metadata.uid] = work

    def _end_pre_bind(self, uid: str) -> None:
        """Drop the PreBind of a pod that has not ended here."""
        work = self._binding.pop(uid, None)
        if work is not None and inspect.getcoroutinestate(work) is not inspect.CORO_CLOSED:
            self.answers.drop(work)

    def give_back(self, entry: GaveBack) -> None:
        """Run Unreserve and forget a pod that lost its node.

        If it was refused at Reserve or Permit, which leaves no other entry, that comes first:
        plugins keep state there.
        """
        self.set_time(entry.time)
        uid, cache = entry.uid, self.scheduler.cache
        self._end_pre_bind(uid)
        attempt = self._current.get(uid)
        if attempt is None:
            if cache.is_assumed(uid):
                cache.forget_pod(uid)
            return
        if attempt.assumed is None:
            if cache.pod(uid) is not None:
                return
            self.reserve(entry.time, uid, entry.node)
        elif uid not in self._passed_permit:
            self.permit(entry.time, uid)
        self._passed_permit.discard(uid)
        if attempt.assumed is not None:
            self.attempts.give_back(attempt, to_status(entry.status))
            attempt.assumed = None

    def nominate(self, uid: str, node_name: str) -> None:
        """Nominate a pod as a plugin did beside the loop; "" ends its nomination."""
        nominator = self.scheduler.nominator
        if not node_name:
            nominator.delete(uid)
            return
        for pod in self.pods_of(uid):
            nominator.add(pod, node_name)

    def forgot(self, uid: str) -> None:
        """Forget a pod that was deleted after its wait at Permit.

        What ended the wait may not be in the journal, so the pod may still wait here.
        """
        if self.scheduler.cache.is_assumed(uid):
            self.scheduler.cache.forget_pod(uid)

    def bound(self, time: float, uid: str) -> None:
        """Run PostBind of a pod that was bound."""
        self.set_time(time)
        attempt = self._current.pop(uid, None)
        self._passed_permit.discard(uid)
        if attempt is None or attempt.assumed is None:
            return
        # Whatever has ended its wait at Permit may not be in the journal.
        self._pre_bind(attempt)
        self._end_pre_bind(uid)
        assumed = attempt.assumed
        if attempt.profile.post_bind:
            self.answers.start(
                run_post_bind(attempt.profile, attempt.state, assumed.pod, assumed.node_name)
            )

    def failed(self, entry: Failed) -> None:
        """Record that an attempt failed."""
        self.set_time(entry.time)
        attempt = self._current.pop(entry.uid, None)
        if attempt is not None:
            info = attempt.info
        else:
            pod = next(iter(self.pods_of(entry.uid)), None)
            if pod is None:
                return
            info = QueuedPodInfo(pod, entry.time, 0)
        failure = Failure(
            entry.message,
            rejected=entry.rejected,
            no_fit=entry.rejected,
            unschedulable=entry.unschedulable,
            pending=entry.pending,
            nominated=entry.nominated,
        )
        self.attempts.fail(info, failure, entry.time)

    def work_begins(self, time: float, work: str) -> None:
        """Begin a run of a plugin's periodic work."""
        self.set_time(time)
        self.works.begin(work)

    def fetched(self, entry: Fetched) -> None:
        """Give a plugin the answer to its request."""
        self.set_time(entry.time)
        self.answers.answer(entry)

    # Attempts for pod groups, which the engine does not run itself.

    def adopt(self, attempt: SchedulingAttempt) -> None:
        """Take over an attempt that has passed Permit on its recorded node."""
        self._current[attempt.info.uid] = attempt
        self._passed_permit.add(attempt.info.uid)
        wait = None if attempt.assumed is None else attempt.assumed.wait
        if wait is None:
            self._permitted.append(attempt)
        else:
            wait.when_done(lambda: self._wait_ended(attempt, wait))

    def drop(self, attempt: SchedulingAttempt) -> None:
        """Undo an attempt that was not recorded."""
        if attempt.assumed is not None:
            self.attempts.give_back(attempt, Status.unschedulable())
            attempt.assumed = None

    def forget(self, uid: str) -> None:
        """Forget the latest attempt of a pod: its state belongs to another node."""
        self._current.pop(uid, None)

    def close(self) -> None:
        """Close the plugins."""
        drive(self.works.close())
        for profile in self.scheduler.profiles.values():
            for plugin in profile.plugins.values():
                self.answers.start(plugin.close())


def _failed(pod: Pod, error: BaseException) -> Decision:
    raise_if_external(error)
    name = pod.spec.scheduler_name
    return Decision(pod, name, Outcome.ERROR, message=error_text(error))


def _within(entry: AttemptBegins) -> Rows | None:
    return None if entry.within is None else np.array(entry.within, dtype=np.intp)


def to_status(recorded: RecordedStatus | None) -> Status:
    """Return a recorded status; a refusal without reasons if there is none."""
    if recorded is None:
        return Status.unschedulable()
    return Status(Code(recorded.code), recorded.reasons, plugin=recorded.plugin)


def _own_steps(profile: Profile, steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(
        step for step in steps if type(profile.plugins[step.name]).__module__.startswith(_OWN)
    )
