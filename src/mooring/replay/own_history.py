"""OwnHistory: what would have become of the recorded pods under other rules.

A scheduler with its own queue gets the recorded objects at their recorded times, and its placements
stand. A pod arrives and departs as recorded, whatever node it got, unless a recorded preemption
made it depart: that is a decision of the recorded scheduler. Everything else, such as nodes and
volumes, changes as recorded.

Deciding and binding take no time here, so the usual time from the beginning of a recorded attempt
to its bind is added to what a pod waits: otherwise the comparison would flatter the other rules.
And the next attempt begins only when the one before would have ended (`OwnPace`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.api import Node, Pod
from mooring.cache.cache import Cache
from mooring.config.rules import Rules
from mooring.framework.pod_info import PodInfos
from mooring.journal.entries import (
    AttemptBegins,
    AttemptEnds,
    Bound,
    Change,
    CheckpointBegins,
    CheckpointEnds,
    CheckpointObject,
    CheckpointWork,
    Entry,
    Fetched,
    GroupEnds,
    PodUpdate,
    SegmentHead,
    WorkBegins,
)
from mooring.observe.attempt_random import AttemptRandom
from mooring.observe.clock import VirtualClock
from mooring.replay.own_pace import OwnPace
from mooring.replay.recorded_answers import (
    RecordedAnswers,
    recorded_list,
    recorded_object_of,
)
from mooring.replay.recorded_informers import RecordedInformers, recorded_object
from mooring.replay.recorded_work import RecordedHttpClient, RecordedWork
from mooring.replay.taking import taking
from mooring.replay.usage import Usage, UsageMeter
from mooring.scheduler.running_scheduler import DiscardedEvents
from mooring.virtual.memory_client import MemoryClient, MemoryList
from mooring.virtual.memory_cluster import MemoryCluster, VersionedStore
from mooring.virtual.outcomes import OutcomeRecorder
from mooring.virtual.simulation import Simulation

_POD_SCHEDULED = "PodScheduled"

T = TypeVar("T")


class PodTimes(msgspec.Struct):
    """When a pod arrived, got its node and departed; None if it has not."""

    arrived: float
    bound: float | None = None
    departed: float | None = None

    def pending(self, end: float) -> float:
        """Return for how many seconds it waited, up to `end`."""
        until = self.bound if self.bound is not None else self.departed
        return max(0.0, (end if until is None else until) - self.arrived)


class HistorySide(msgspec.Struct):
    """One of the two histories that are compared."""

    usage: Usage = msgspec.field(default_factory=Usage)
    #: The pods that arrived pending, by uid.
    pods: dict[str, PodTimes] = msgspec.field(default_factory=dict)
    preemptions: int = 0
    #: How many pods, or groups of pods, were tried.
    attempts: int = 0

    @property
    def bound(self) -> int:
        """Return how many of the pods got a node."""
        return sum(one.bound is not None for one in self.pods.values())

    def waits(self, end: float) -> list[float]:
        """Return for how many seconds each pod waited, sorted."""
        return sorted(one.pending(end) for one in self.pods.values())


class OwnHistoryReport(msgspec.Struct):
    """The recorded history beside that of other rules."""

    rules: str
    begin: float = 0.0
    end: float = 0.0
    recorded: HistorySide = msgspec.field(default_factory=HistorySide)
    own: HistorySide = msgspec.field(default_factory=HistorySide)
    #: The plugins that lack answers which the journal leaves out; "" if the name is not known.
    lacking: set[str] = msgspec.field(default_factory=set)


class _OwnClient(MemoryClient):
    """A client that records the pods that it binds and deletes.

    Reads of periodic work get the recorded answers.
    """

    def __init__(
        self,
        informers: MemoryCluster,
        clock: VirtualClock,
        pace: OwnPace,
        side: HistorySide,
        answers: RecordedAnswers,
    ) -> None:
        super().__init__(informers)
        self._pace = pace
        self._answers = answers
        self.deleted: set[str] = set()
        self._clock = clock
        self._side = side

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        if self._answers.running_work:
            self._answers.note_read(kind)
            return await recorded_object_of("get", kind, namespace, name)
        return await super().get(kind, name, namespace)

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        *,
        timeout: float = 0.0,
        retries: int = 0,
        max_bytes: int = 0,
    ) -> MemoryList:
        if self._answers.running_work:
            self._answers.note_read(kind)
            return await recorded_list(kind, namespace)
        return await super().list(kind, namespace)

    async def bind(self, pod: Pod, node_name: str) -> None:
        await super().bind(pod, node_name)
        self._pace.changed(self._clock.now())
        times = self._side.pods.get(pod.metadata.uid)
        if times is not None:
            times.bound = self._clock.now()

    async def delete(
        self, kind: type[Any], name: str, namespace: str = "", *, uid: str = ""
    ) -> None:
        if kind is Pod:
            pod = self._store(Pod).get(name, namespace)
            if pod is not None and pod.metadata.uid not in self.deleted:
                self.deleted.add(pod.metadata.uid)
                self._pace.changed(self._clock.now())
                self._side.preemptions += 1
                times = self._side.pods.get(pod.metadata.uid)
                if times is not None:
                    times.departed = self._clock.now()
        await super().delete(kind, name, namespace, uid=uid)


class _OwnInformers(RecordedInformers):
    """The objects of the other rules' history: recorded changes, and what the scheduler writes."""

    store_type = VersionedStore


class OwnHistory:
    """The simulation of a journal's pods under other rules, beside the recorded history.

    It covers one run of a scheduler after the other: a restart ends what the scheduler knows, and
    the placements of the earlier run stand as recorded.
    """

    def __init__(self, rules_of: Callable[[SegmentHead], Rules]) -> None:
        self._rules_of = rules_of
        self._report = OwnHistoryReport("")
        self._run: _Run | None = None

    async def run(self, entries: Iterable[Entry], since: float | None = None) -> OwnHistoryReport:
        """Simulate; return both histories. Before `since`, both are as recorded."""
        report, delays = self._report, []
        begun: dict[str, float] = {}
        for entry in entries:
            with taking(entry):
                if isinstance(entry, SegmentHead):
                    await self._end_run()
                    rules = self._rules_of(entry)
                    report.rules = rules.text
                    self._run = _Run(rules, report, entry, since)
                elif isinstance(entry, AttemptBegins):
                    begun[entry.uid] = entry.time
                elif isinstance(entry, Bound) and entry.uid in begun:
                    delays.append(entry.time - begun.pop(entry.uid))
                if self._run is not None:
                    await self._run.take(entry)
        await self._end_run()
        delay = median(delays) if delays else 0.0
        for times in report.own.pods.values():
            if times.bound is not None:
                times.bound += delay
        return report

    async def _end_run(self) -> None:
        if self._run is not None:
            await self._run.close()
            self._run = None


class _Run:
    """The simulation of one run of a scheduler."""

    def __init__(
        self, rules: Rules, report: OwnHistoryReport, head: SegmentHead, since: float | None
    ) -> None:
        time = head.time
        self._report = report
        self._since = since
        #: Whether pods that arrive are scheduled by the other rules.
        self._own = since is None
        #: Whether the loop has nothing to do until something changes or the next moment comes.
        self._is_idle = False
        #: Whether the recorded scheduler has read the cluster and schedules.
        self._begun = False
        self._clock = VirtualClock(time)
        self._pace = OwnPace(time)
        self._random = AttemptRandom(0)
        self._informers = _OwnInformers()
        self._answers = RecordedAnswers()
        self._works = RecordedWork(self._answers)
        #: The runs of periodic work in the checkpoint.
        self._worked: list[CheckpointWork] = []
        self._simulation = Simulation(
            config=rules.config,
            registry=rules.registry,
            features=rules.gates,
            clock=self._clock,
            random=self._random,
            client=self._make_client,
            http=RecordedHttpClient(self._answers, lenient=True),
            periodic=self._works,
            recorder=OutcomeRecorder(with_details=False),
            events=DiscardedEvents(),
            cluster=self._informers,
            max_in_unschedulable=head.max_in_unschedulable,
        )
        self._simulation.start()
        self.scheduler = self._simulation.scheduler
        #: The pods as they were recorded, and the nodes with those of them that had one.
        self._recorded_pods = RecordedInformers()
        self._recorded = Cache(PodInfos(rules.gates))
        #: The pods whose recorded placement does not count, by uid.
        self._managed: dict[str, Pod] = {}
        #: The pods that a recorded preemption removes, as "namespace/name".
        self._preempted: set[str] = set()
        self._observed = time
        self._meters = UsageMeter(report.own.usage), UsageMeter(report.recorded.usage)
        if not report.begin:
            report.begin = time

    def _make_client(self, cluster: MemoryCluster) -> _OwnClient:
        report = self._report.own
        self._client = _OwnClient(cluster, self._clock, self._pace, report, self._answers)
        return self._client

    async def take(self, entry: Entry) -> None:
        """Take in an entry of the journal."""
        match entry:
            case CheckpointBegins():
                self._random.state = entry.seed
            case CheckpointObject():
                obj = recorded_object(entry)
                self._recorded_change(obj, deleted=False)
                self._informers.named(entry.kind).add(obj)
            case CheckpointWork():
                self._worked.append(entry)
            case CheckpointEnds():
                for run in self._worked:
                    self._works.begin(run.work)
                    for answer in run.answers:
                        self._answers.answer(answer)
                self._take_pending(entry.time)
            case WorkBegins():
                await self._until(entry.time)
                self._pace.changed(entry.time)
                self._works.begin(entry.work)
                self._is_idle = False
            case Fetched() if entry.work:
                await self._until(entry.time)
                self._pace.changed(entry.time)
                self._answers.answer(entry)
                self._is_idle = False
            case Change() | PodUpdate():
                await self._until(entry.time)
                self._pace.changed(entry.time)
                self._take_change(entry)
            case AttemptBegins():
                self._begun = True
                self._pace.recorded_begin(entry.uid, entry.time)
                await self._until(entry.time)
            case AttemptEnds():
                self._pace.recorded_end(entry.record.uid, entry.time)
                self._recorded_preemption(entry.record.victims)
            case GroupEnds():
                self._recorded_preemption(entry.victims)
            case Bound():
                self._recorded_bind(entry.uid, entry.time)
            case _:
                return

    async def close(self) -> None:
        """End the run."""
        await self._simulation.settle()
        self._report.end = self._clock.now()
        self._report.lacking |= self._answers.lacking
        await self._simulation.close()

    def _recorded_preemption(self, victims: Sequence[str]) -> None:
        if self._own and victims:
            # A pod or group that is tried again names victims that are still terminating again.
            before = len(self._preempted)
            self._preempted.update(victims)
            self._report.recorded.preemptions += len(self._preempted) - before

    def _recorded_bind(self, uid: str, time: float) -> None:
        times = self._report.recorded.pods.get(uid)
        if times is not None and times.bound is None:
            times.bound = time

    # Time.

    async def _until(self, time: float) -> None:
        """Schedule until a time, which the clock then shows."""
        if not self._own and self._since is not None and time >= self._since:
            self._own = True
            self._observed = self._report.begin = self._since
            self._take_pending(self._since)
        while True:
            await self._schedule()
            moment = self._next_moment()
            if moment is None or moment > time:
                break
            self._observe(moment)
            self._clock.move_to(moment)
            self._is_idle = False
            await self._simulation.settle()
        self._observe(time)
        self._clock.move_to(time)

    async def _schedule(self) -> None:
        if not self._own or not self._begun:
            self.scheduler.inbox.drain()
            return
        if self._is_idle:
            return
        self._is_idle = False
        while self._clock.now() >= self._pace.free_at:
            worked = await self._simulation.step()
            if worked:
                self._report.own.attempts += 1
                self._pace.attempted(self._clock.now())
            if not worked:
                self._is_idle = True
                return

    def _next_moment(self) -> float | None:
        """Return when a task or the scheduling loop has something to do."""
        if not self._own or not self._begun:
            return None
        now, free_at, scheduler = self._clock.now(), self._pace.free_at, self.scheduler
        timers = (scheduler.queue.next_wakeup(), scheduler.on_the_way.next_deadline())
        moments = [max(one, free_at, now) for one in timers if one is not None]
        if free_at > now and scheduler.queue.count_queued():
            moments.append(free_at)
        if (woken := self._clock.next_wakeup) is not None:
            moments.append(max(woken, now))
        return self._pace.wakeup(min(moments), now) if moments else None

    def _observe(self, until: float) -> None:
        """Add the time since the last observation to the usage of both clusters."""
        if self._own:
            seconds = until - self._observed
            own, recorded = self._meters
            own.observe(self.scheduler.cache.nodes, seconds)
            recorded.observe(self._recorded.nodes, seconds)
        self._observed = max(self._observed, until)

    # Changes.

    def _take_change(self, change: Change | PodUpdate) -> None:
        self._is_idle = False
        obj = self._recorded_pods.object_after(change)
        if obj is None:
            return
        self._recorded_change(obj, deleted=change.deleted)
        if isinstance(obj, Pod) and type(obj) is Pod:
            self._take_pod(change, obj)
            return
        self._informers.apply(change, obj)

    def _recorded_change(self, obj: Any, *, deleted: bool) -> None:
        """Keep the pods and the cache of the recorded history up to date."""
        cache = self._recorded
        if type(obj) is Pod:
            pods, meta = self._recorded_pods.store(Pod), obj.metadata
            if deleted:
                pods.delete(meta.name, meta.namespace)
                cache.remove_pod(meta.uid)
                return
            pods.add(obj)
            if obj.spec.node_name:
                cache.add_pod(obj)
        elif isinstance(obj, Node):
            if not deleted:
                cache.update_node(obj)
            elif cache.nodes.row(obj.metadata.name) >= 0:
                cache.remove_node(obj.metadata.name)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self.scheduler.profiles

    def _take_pending(self, time: float) -> None:
        """Let the other rules schedule the pods that are pending now."""
        if not self._own:
            return
        self._pace.changed(time)
        self._is_idle = False
        for pod in list(self._informers.store(Pod)):
            if self._is_ours(pod) and not pod.spec.node_name:
                self._arrive(pod, time)
                self._informers.store(Pod).add(self._as_own(pod))

    def _arrive(self, pod: Pod, time: float) -> None:
        uid = pod.metadata.uid
        self._managed[uid] = pod
        for side in (self._report.recorded, self._report.own):
            side.pods.setdefault(uid, PodTimes(time))

    def _take_pod(self, change: Change | PodUpdate, pod: Pod) -> None:
        uid, store = pod.metadata.uid, self._informers.store(Pod)
        is_new = not change.known and not change.deleted and not pod.spec.node_name
        if self._own and is_new and self._is_ours(pod) and uid not in self._managed:
            self._arrive(pod, change.time)
        if uid not in self._managed:
            self._informers.apply(change, pod)
            return
        sides = self._report
        if pod.spec.node_name:
            # Another replica may have bound it.
            self._recorded_bind(uid, change.time)
        if change.deleted:
            sides.recorded.pods[uid].departed = change.time
        if uid in self._client.deleted:
            return
        preempted = pod.key in self._preempted and (change.deleted or pod.is_terminating)
        if preempted:
            # The recorded scheduler removed it; the other rules may not.
            return
        if change.deleted:
            times = sides.own.pods[uid]
            if times.departed is None:
                times.departed = change.time
            store.delete(change.name, change.namespace)
            return
        store.add(self._as_own(pod))

    def _as_own(self, pod: Pod) -> Pod:
        """Return a recorded pod with what the other rules decided instead of the recorded node."""
        meta = pod.metadata
        current: Pod | None = self._informers.store(Pod).get(meta.name, meta.namespace)
        if current is not None and current.metadata.uid != meta.uid:
            current = None
        node_name = "" if current is None else current.spec.node_name
        nominated = "" if current is None else current.status.nominated_node_name
        conditions = tuple(one for one in pod.status.conditions if one.type != _POD_SCHEDULED)
        status = replace(pod.status, nominated_node_name=nominated, conditions=conditions)
        return replace(pod, spec=replace(pod.spec, node_name=node_name), status=status)
