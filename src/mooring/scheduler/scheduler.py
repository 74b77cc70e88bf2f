"""Scheduler: the loop that takes one pod after the other from the queue.

`schedule_one` has the steps of one attempt; here are the loop, the tasks that run beside it, and
how they end.

One event loop owns cache, queue and cycle, so there are no locks. Binding cycles run beside the
loop as tasks; their results and informer events wait in the inbox until the loop is between two
cycles.

# kube-scheduler: scheduler.go, schedule_one.go
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

from mooring.api import Pod
from mooring.binding.binding_cycle import BindingCycles
from mooring.binding.binding_pods import BindingPods
from mooring.binding.pod_group_status_writer import GroupStatusWriter, PodGroupStatusWriter
from mooring.binding.status_writer import PodStatusWriter, StatusWriter
from mooring.cache.cache import Cache
from mooring.config.load import LoadResult
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scheduling_cycle import Choose, Cycle, by_seed
from mooring.framework.extender import Extender
from mooring.framework.features import FeatureGates
from mooring.framework.handle import ApiClient, EventWriter, HttpClient, Nominator
from mooring.framework.listers import Lister
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.pod_groups import PodGroups, known_pod_groups
from mooring.framework.pod_info import PodInfos
from mooring.framework.status import Status
from mooring.informers.store import EventHandler
from mooring.observe.clock import Clock, Progress
from mooring.observe.logs import log_error
from mooring.observe.metrics import PLUGIN_METRICS_SAMPLE_PERCENT, Metrics
from mooring.queue.nominator import PodNominator
from mooring.queue.order import queue_order
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.scheduling_queue import SchedulingQueue
from mooring.queue.unschedulable_timeouts import DEFAULT_MAX_IN_UNSCHEDULABLE
from mooring.registry import Registry
from mooring.scheduler.event_handlers import ClusterEvents, Informers, posting_handler
from mooring.scheduler.examined_group import GroupExaminer
from mooring.scheduler.failure import Failure
from mooring.scheduler.inbox import Inbox
from mooring.scheduler.periodic_work import PeriodicWork, RepeatedWork
from mooring.scheduler.plugin_tasks import PluginTasks, Tasks, close_plugins
from mooring.scheduler.schedule_one import SchedulingAttempt, SchedulingAttempts
from mooring.scheduler.schedule_one_pod_group import PodGroupAttempts
from mooring.scheduler.tapped_clients import TappedClient, TappedHttpClient
from mooring.scheduler.tapped_extender import TappedExtender
from mooring.scheduler.tapped_informers import TappedInformers
from mooring.scheduler.tapped_nominator import TappedNominator
from mooring.scheduler.taps import SchedulingTap, make_taps

log = logging.getLogger(__name__)

#: The plugins are timed in one of this many scheduling cycles.
_SAMPLE_EVERY = 100 // PLUGIN_METRICS_SAMPLE_PERCENT
#: The loop yields to watches and binding cycles after this many pods, or after these seconds.
_ROW = 8
_ROW_SECONDS = 0.002
#: Seconds that binding cycles in progress have to end when the scheduler stops.
GRACE = 5.0
#: The status of a pod whose binding task was cancelled: by the scheduler when it stops, which then
#: reports nothing, or by a plugin.
_CANCELLED = Status.error("the task of the binding cycle was cancelled")
_LOOP_CANCELLED = "a plugin cancelled the task of the scheduling loop"


class Scheduler:
    """A scheduler of the pods of an API server. Owned by its event loop."""

    def __init__(
        self,
        config: LoadResult,
        *,
        client: ApiClient,
        http: HttpClient,
        informers: Informers,
        registry: Registry,
        features: FeatureGates,
        clock: Clock,
        random: Random,
        metrics: Metrics,
        events_of: Callable[[str], EventWriter],
        extenders: Sequence[Extender] = (),
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
        read_only: bool = False,
        taps: Sequence[SchedulingTap] = (),
        periodic: RepeatedWork | None = None,
        tasks: Tasks | None = None,
        inbox: Inbox | None = None,
        make_queue: type[SchedulingQueue] = SchedulingQueue,
        choose: Choose = by_seed,
        reuse: bool | None = None,
        status_writer: PodStatusWriter | None = None,
        group_status_writer: GroupStatusWriter | None = None,
        examiner: GroupExaminer | None = None,
        keep_raw: bool = True,
    ) -> None:
        """Make the plugins and start them. This is the only wiring of a scheduler's parts.

        With `read_only`, work that plugins spawn is discarded; the caller only lets it `follow`.
        `periodic` repeats the periodic work of plugins; the default is a `PeriodicWork`. `tasks`
        run beside the loop; the default is asyncio tasks. `choose` and `reuse` are those of
        `Cycle`. The default status writers write through `client`. `examiner` may want the details
        of attempts for pod groups. Taps get decisions with all raw scores if `keep_raw` is set.
        """
        settings = config.config
        self.clock = clock
        self.metrics = metrics
        self.inbox = Inbox() if inbox is None else inbox
        self.pod_infos = PodInfos(features)
        #: The pod groups and their pods; None if the gate GenericWorkload is off.
        self.pod_groups = known_pod_groups(features)
        self.cache = Cache(self.pod_infos, self.pod_groups)
        self.cache.show_sizes(metrics.cache_size)
        self.cycles = 0
        #: Counts the steps of cycles, which another thread reads too.
        self.progress = Progress()
        self.on_the_way = BindingPods()
        #: The pod of the current scheduling cycle; None between two cycles. Another thread reads
        #: this and the number of cycles, to detect a cycle that does not end.
        self.trying: Pod | None = None
        #: The task of the loop.
        self.turning: asyncio.Task[None] | None = None
        #: The random source of decisions: of the cycle and of the plugins.
        self.random = random
        self._taps = make_taps(taps, random)
        if self._taps is not None and self._taps.hears_changes:
            informers = TappedInformers(informers, self.inbox, self._taps)
        #: What plugins reach servers with.
        plugin_client, plugin_http = client, http
        if self._taps is not None and self._taps.hears_answers:
            extenders = [TappedExtender(extender, self._taps) for extender in extenders]
            plugin_client = TappedClient(client, self._taps)
            plugin_http = TappedHttpClient(http, self._taps)
        self._informers = informers
        self._events_of = events_of
        self._tasks: Tasks = PluginTasks() if tasks is None else tasks
        self._periodic = PeriodicWork(clock, self._taps) if periodic is None else periodic
        self._stopping = False
        #: Whether the scheduler only follows a cluster: what plugins spawn is discarded.
        self.read_only = read_only
        #: Whether a plugin is only asked at the moment, for an explanation.
        self._examining = False
        #: Whether the loop has begun: what the informers found first has been taken in.
        self._synced = False
        #: The pod whose cycle ended because the task of the loop was cancelled.
        self._interrupted: QueuedPodInfo | None = None
        #: The latest version of every pod.
        self.pods: Lister[Pod] = informers.informer(Pod).store
        self.extenders = extenders
        self.nominator = PodNominator(self.pod_infos, self.pods)
        if status_writer is None:
            status_writer = StatusWriter(client, clock, self._tasks.start)
        if group_status_writer is None:
            group_status_writer = PodGroupStatusWriter(
                client, clock, self._tasks.start, status_writer.told
            )
        self.profiles = self._make_profiles(
            config, registry, plugin_client, plugin_http, features, random, extenders
        )
        self.cycle = Cycle(
            self.profiles,
            snapshot=self._snapshot,
            node_order=self.cache.node_order,
            nominator=self.nominator,
            extenders=extenders,
            percentage_of_nodes_to_score=settings.percentage_of_nodes_to_score,
            random=random,
            choose=choose,
            reuse=reuse,
            keep_raw=keep_raw and self._taps is not None,
        )
        first = next(iter(self.profiles.values()))
        self.queue = make_queue(
            self.profiles,
            queue_order(first.queue_sort()),
            clock,
            features=features,
            nominator=self.nominator,
            pod_groups=self.pod_groups,
            metrics=metrics,
            initial_backoff=settings.pod_initial_backoff_seconds,
            max_backoff=settings.pod_max_backoff_seconds,
            max_in_unschedulable=max_in_unschedulable,
        )
        binding = BindingCycles(
            on_the_way=self.on_the_way,
            status_writer=status_writer,
            extenders=extenders,
            events_of=events_of,
            clock=clock,
            metrics=metrics,
            nominates=features.enabled("NominatedNodeNameForExpectation"),
            permitted=partial(self.inbox.post, self.queue.done),
            start_task=self._tasks.start_task,
            wait_for=self._tasks.wait_for,
        )
        self.attempts = SchedulingAttempts(
            profiles=self.profiles,
            cycle=self.cycle,
            cache=self.cache,
            nominator=self.nominator,
            queue=self.queue,
            on_the_way=self.on_the_way,
            binding=binding,
            events_of=events_of,
            status_writer=status_writer,
            pods=self.pods,
            clock=clock,
            metrics=metrics,
            taps=self._taps,
            resizes=features.enabled("InPlacePodVerticalScalingSchedulerPreemption"),
        )
        #: None if the gate GenericWorkload is off.
        self.group_attempts: PodGroupAttempts | None = None
        if self.pod_groups is not None:
            self.group_attempts = PodGroupAttempts(
                attempts=self.attempts,
                profiles=self.profiles,
                cache=self.cache,
                groups=self.pod_groups,
                status_writer=group_status_writer,
                features=features,
                clock=clock,
                metrics=metrics,
                examiner=examiner,
            )
        ClusterEvents(
            cache=self.cache,
            queue=self.queue,
            profiles=self.profiles,
            on_the_way=self.on_the_way,
            inbox=self.inbox,
            features=features,
            clock=clock,
            metrics=metrics,
            taps=self._taps,
            pod_groups=self.pod_groups,
        ).attach(informers)

    def _snapshot(self) -> Any:
        return self.cache.nodes

    def _make_profiles(
        self,
        config: LoadResult,
        registry: Registry,
        client: ApiClient,
        http: HttpClient,
        features: FeatureGates,
        random: Random,
        extenders: Sequence[Extender],
    ) -> dict[str, Profile]:
        nominator: Nominator = self.nominator
        if self._taps is not None and self._taps.hears_nominations:
            nominator = TappedNominator(self.nominator, self._taps)
        shared = SharedState(
            features=features,
            clock=self.clock,
            random=random,
            client=client,
            http=http,
            nominator=nominator,
            extenders=extenders,
            snapshot=self._snapshot,
            pod_infos=self.pod_infos,
            lister=lambda kind: self._informers.informer(kind).store,
            watch=self._watch,
            synced=lambda: self._synced,
            waiting_pods=self.on_the_way,
            activate=self._activate,
            spawn=self._spawn,
            every=self._periodic.add,
            pod_groups=self.pod_groups or PodGroups(),
            metrics=self.metrics,
            progress=self.progress,
        )
        return make_profiles(config.profiles, registry, shared, self._events_of)

    def _watch(self, kind: Any, handler: EventHandler[Any]) -> None:
        self._informers.informer(kind).add_handler(posting_handler(self.inbox, handler))

    # Work beside the loop.

    def _activate(self, pods: Iterable[Pod]) -> None:
        if not self._examining:
            self.inbox.post(self.queue.activate, tuple(pods))

    def _spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        if self.read_only or self._examining:
            work.close()
        else:
            self._tasks.spawn(work, pod)

    @contextmanager
    def examining(self) -> Iterator[None]:
        """Call plugins without effect: drop what they spawn or activate, restore the random source.

        Only for the time between two cycles.
        """
        state, self._examining = self.random.getstate(), True
        try:
            yield
        finally:
            self._examining = False
            self.random.setstate(state)

    # The loop.

    async def run(self) -> None:
        """Schedule until `stop`, or until cancelled; informers must have been started.

        The loop is a task of its own: if a plugin cancels the task that it runs in, the loop is
        started again.
        """
        self._periodic.start()
        while not self._stopping:
            turning = self.turning = asyncio.create_task(self._run())
            try:
                await asyncio.wait((turning,))
            except asyncio.CancelledError:
                turning.cancel()
                await asyncio.wait((turning,), timeout=GRACE)
                raise
            if not turning.cancelled():
                return turning.result()
            log_error(log, None, "A plugin cancelled the scheduling loop, which goes on")
            if (info := self._interrupted) is not None:
                self._interrupted = None
                self._fail(info, _LOOP_CANCELLED, self.clock.now())

    async def _run(self) -> None:
        while not self._stopping:
            if not await self._turns():
                await self.inbox.wait(self._seconds_to_next())
            else:
                # Yield to watches and binding cycles.
                await asyncio.sleep(0)

    async def follow(self) -> None:
        """Handle events without scheduling, while another replica is the leader."""
        self._periodic.start()
        while True:
            self.inbox.drain()
            await self.inbox.wait(None)

    async def _turns(self) -> bool:
        """Try a few pods without yielding, which is faster; False if no pod is ready."""
        until = self.clock.now() + _ROW_SECONDS
        for _ in range(_ROW):
            if not await self.turn():
                return False
            if self._stopping or self.clock.now() >= until:
                break
        return True

    async def turn(self) -> bool:
        """Handle what happened and try one pod; False if no pod is ready."""
        now = self.clock.now()
        self.take_in()
        self.on_the_way.expire(now)
        self.queue.flush()
        info = self.queue.pop()
        if info is None:
            return False
        self.cycles += 1
        self.trying = info.pod
        try:
            timed = self.cycles % _SAMPLE_EVERY == 0
            for attempt in await self._schedule(info, timed):
                self.start_binding(attempt)
        except BaseException as error:
            self._interrupted = info
            raise_if_external(error)
            self._interrupted = None
            text = error_text(error)
            log_error(log, text, "Scheduling a pod failed", pod=info.pod)
            self._fail(info, text, now)
        finally:
            self.trying = None
        return True

    def take_in(self) -> None:
        """Handle what has happened since the last cycle."""
        self.inbox.drain()
        self._synced = True

    async def _schedule(self, info: QueuedPodInfo, timed: bool) -> Sequence[SchedulingAttempt]:
        """Try a pod or a pod group; return the attempts whose binding cycles are to follow."""
        if isinstance(info, QueuedPodGroupInfo):
            assert self.group_attempts is not None
            return await self.group_attempts.schedule(info, timed=timed)
        attempt = await self.attempts.schedule(info, timed=timed)
        return () if attempt is None else (attempt,)

    def _fail(self, info: QueuedPodInfo, message: str, start: float) -> None:
        """Put a pod or a pod group back whose attempt ended with an unexpected error."""
        if isinstance(info, QueuedPodGroupInfo):
            assert self.group_attempts is not None
            self.group_attempts.fail(info, message)
        else:
            self.attempts.fail(info, Failure(message, rejected=False), start)

    def _seconds_to_next(self) -> float | None:
        moments = [self.queue.next_wakeup(), self.on_the_way.next_deadline()]
        soonest = min((moment for moment in moments if moment is not None), default=None)
        return None if soonest is None else max(0.0, soonest - self.clock.now())

    async def stop(self, grace: float = GRACE) -> None:
        """End the loop, let binding cycles in progress end, and close the plugins.

        Pods that wait at Permit lose their node. After `grace` seconds the other binding cycles are
        cancelled, and their pods lose their node too.
        """
        self._stopping = True
        await self._periodic.close()
        self.inbox.wake()
        for waiting in self.on_the_way.waiting():
            waiting.reject("", "the scheduler is shutting down")
        await self._tasks.stop(grace)
        self.inbox.drain()
        await close_plugins(self.profiles.values())

    # Binding.

    def start_binding(self, attempt: SchedulingAttempt) -> None:
        """Start the binding cycle of a pod that has passed Permit, or waits there."""
        self._tasks.start(self._bind(attempt))

    async def _bind(self, attempt: SchedulingAttempt) -> None:
        gauge = self.metrics.goroutines["binding"]
        gauge.inc()
        status: Status | None = _CANCELLED
        try:
            status = await self.attempts.bind(attempt)
        except BaseException as error:
            raise_if_external(error)
            text = error_text(error)
            log_error(log, text, "The binding cycle failed", pod=attempt.info.pod)
            status = Status.error(text)
        finally:
            gauge.dec()
            if status is not None:
                # However it failed, release what the pod holds.
                self.inbox.post(self._binding_failed, attempt, status)
        if status is None:
            if self._taps is not None:
                self.inbox.post(self._taps.bound, attempt)
            faults = await self.attempts.bound(attempt)
            if faults and self._taps is not None:
                self.inbox.post(self._taps.post_bind_failed, attempt, faults)

    def _binding_failed(self, attempt: SchedulingAttempt, status: Status) -> None:
        if self._stopping:
            # The next scheduler reports why the pod is pending.
            self.attempts.give_back(attempt, status)
        else:
            self.attempts.binding_failed(attempt, status)
