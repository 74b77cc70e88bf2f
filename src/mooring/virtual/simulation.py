"""Simulation: the live scheduler on objects in memory and a virtual clock.

Loop, queue, event handlers and wiring are those of `mooring run` (`scheduler.scheduler`). Nothing
waits for I/O: writes go to the stores, binding cycles end in the step that starts them unless they
wait in virtual time, and the clock moves only if no pod is ready.

A live scheduler never ends. `step_until_quiet` ends by three rules, which its caller may change. A
pod whose attempt ended with an error is waited for only if an event has occurred since that attempt
began, because without one the error would repeat. A pod is given up after `MAX_ATTEMPTS`, because
two gangs could wait for each other forever. And an attempt that has failed leads to no further one:
the end of a nomination is no event, because it frees no room, and a preemptor whose victims leave
immediately does not overtake pods that have not been tried. What runs beside the loop and sleeps
moves the clock, before another pod is tried.
"""

from __future__ import annotations

import math
import random as random_module
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from mooring.api import KubeObject, Pod, WorkloadPodGroup, scheduling_group_key
from mooring.config.load import LoadResult, default_config
from mooring.cycle.scheduling_cycle import Choose, by_seed
from mooring.framework.decision import Decision, Outcome
from mooring.framework.features import FeatureGates
from mooring.framework.handle import EventWriter, HttpClient
from mooring.framework.release_metrics import make_metrics
from mooring.framework.status import Status
from mooring.informers.store import EventHandler
from mooring.observe.clock import VirtualClock
from mooring.queue.pre_enqueue import PreEnqueue
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.registry import Registry, default_registry
from mooring.scheduler.periodic_work import PeriodicWork, RepeatedWork
from mooring.scheduler.scheduler import Scheduler
from mooring.virtual.claim_controller import ClaimController
from mooring.virtual.idle_inbox import IdleInbox
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_events import MemoryEvents
from mooring.virtual.memory_status_writer import MemoryGroupStatusWriter, MemoryStatusWriter
from mooring.virtual.no_network import NoNetwork
from mooring.virtual.outcomes import OutcomeRecorder, Outcomes
from mooring.virtual.simulation_queue import SimulationQueue
from mooring.virtual.virtual_tasks import VirtualTasks
from mooring.virtual.volume_controller import VolumeController

#: A pod is given up after this many attempts.
MAX_ATTEMPTS = 10

#: Called after every attempt with the numbers of pods that have been tried, and that are queued.
Progress = Callable[[int, int], None]


class Simulation:
    """A scheduler of the pods of a cluster held in memory. Owned by its caller.

    Until `start`, the queue is empty and pods are tried only if the caller chooses them
    (`MemoryScheduler`).
    """

    def __init__(
        self,
        objects: Iterable[KubeObject] = (),
        *,
        config: LoadResult | None = None,
        registry: Registry | None = None,
        features: FeatureGates | None = None,
        clock: VirtualClock | None = None,
        random: random_module.Random | None = None,
        choose: Choose = by_seed,
        reuse: bool | None = None,
        client: Callable[[MemoryCluster], MemoryClient] = MemoryClient,
        http: HttpClient | None = None,
        periodic: RepeatedWork | None = None,
        recorder: OutcomeRecorder | None = None,
        cluster: MemoryCluster | None = None,
        events: EventWriter | None = None,
        max_in_unschedulable: float = math.inf,
    ) -> None:
        """Make the plugins and start them.

        With `cluster`, the objects are those in it and its owner changes them: no controllers run.
        `max_in_unschedulable` is infinite because nothing else happens while time passes, so no
        hint can have been wrong.
        """
        registry = default_registry() if registry is None else registry
        self._options: dict[str, Any] = {"choose": choose, "reuse": reuse, "client": client}
        self.features = features = FeatureGates() if features is None else features
        if config is None:
            config = default_config(registry=registry, feature_gates=features)
        self.clock = VirtualClock() if clock is None else clock
        self.recorder = OutcomeRecorder() if recorder is None else recorder
        runs_controllers = cluster is None
        self._options |= {
            "config": config,
            "registry": registry,
            "features": features,
            "http": http,
        }
        self.cluster = MemoryCluster(objects) if cluster is None else cluster
        self.client = client(self.cluster)
        #: The Events, unless they are written elsewhere.
        self.events = MemoryEvents(self.clock)
        writer = self.events if events is None else events
        self.tasks, self.inbox = VirtualTasks(self.clock), IdleInbox()
        if periodic is None:
            periodic = PeriodicWork(self.clock, start=self.tasks.start_periodic)
        periodic.start()
        self.scheduler = Scheduler(
            config,
            client=self.client,
            http=NoNetwork() if http is None else http,
            informers=self.cluster,
            registry=registry,
            features=features,
            clock=self.clock,
            random=random_module.Random(0) if random is None else random,
            metrics=make_metrics(features),
            events_of=lambda profile: writer,
            max_in_unschedulable=max_in_unschedulable,
            taps=(self.recorder,),
            periodic=periodic,
            tasks=self.tasks,
            inbox=self.inbox,
            make_queue=SimulationQueue,
            choose=choose,
            reuse=reuse,
            status_writer=MemoryStatusWriter(self.cluster.pods),
            group_status_writer=MemoryGroupStatusWriter(self.cluster.store(WorkloadPodGroup)),
            examiner=self.recorder,
            keep_raw=False,
        )
        queue = self.scheduler.queue
        assert isinstance(queue, SimulationQueue)
        self.queue = queue
        #: Pods that were deleted from their nodes since the beginning of the run.
        self.evicted: list[Pod] = []
        #: By uid, the number of events at the start of an attempt that ended with an error.
        self._errors: dict[str, int] = {}
        self.cluster.inform()
        if runs_controllers:
            # After the handlers of the scheduler: a controller changes an object being added.
            VolumeController(self.cluster)
            of_groups = self.scheduler.pod_groups is not None
            ClaimController(
                self.cluster, of_groups=of_groups and features.enabled("DRAWorkloadResourceClaims")
            )
        self.cluster.pods.add_handler(EventHandler(on_delete=self._pod_deleted), existing=False)
        self.scheduler.take_in()

    def _pod_deleted(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.evicted.append(pod)

    # Stepping.

    def start(self) -> None:
        """Put the pending pods into the queue; from now on, it follows the objects."""
        if self.queue.is_open:
            return
        self.queue.is_open = True
        scheduler = self.scheduler
        for pod in self.cluster.pods.list():
            if pod.spec.node_name or pod.spec.scheduler_name not in scheduler.profiles:
                continue
            if not pod.is_terminating:
                self.queue.add(pod)
            elif scheduler.pod_groups is not None:
                # It does not count for its group either.
                scheduler.pod_groups.remove_pending(pod)

    async def settle(self) -> None:
        """Let what runs beside the loop go on, and handle what has happened."""
        scheduler, tasks = self.scheduler, self.tasks
        scheduler.take_in()
        while tasks.are_ready:
            with self.queue.held():
                await tasks.run()
            scheduler.take_in()

    async def step(self) -> bool:
        """Try one pod, or one pod group; return False if none is ready."""
        await self.settle()
        events, errors = self.queue.events, self._errors
        with self.inbox.busy():
            worked = await self.scheduler.turn()
        await self.settle()
        info = self.queue.popped
        if worked and info is not None:
            for one in info.each():
                errors.pop(one.uid, None)
                if info.place is Place.BACKOFF and not info.rejectors:
                    errors[one.uid] = events
        return worked

    async def step_until_quiet(
        self,
        *,
        max_attempts: float = MAX_ATTEMPTS,
        repeats_errors: bool = False,
        like_live: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Schedule until no pod is ready, or can become ready because time passes.

        A pod is given up after `max_attempts`. With `repeats_errors`, a pod whose attempt ended
        with an error is tried again after its backoff even if nothing has happened since. With
        `like_live`, pods are tried again if another one loses its nomination, and a preemptor does
        not wait for its backoff if its victims have left.
        """
        self.queue.max_attempts = max_attempts
        self.queue.like_live = like_live
        self.tasks.sleep_moves_clock = not like_live
        while True:
            if await self.step():
                if progress is not None:
                    progress(len(self.recorder.decisions), self.queue.count_queued())
            elif not await self._let_time_pass(repeats_errors):
                return

    async def step_to(self, moment: float) -> None:
        """Schedule until a moment, which the clock then shows."""
        while True:
            while await self.step():
                pass
            following = self._next_moment()
            if following > moment:
                break
            self.clock.move_to(following)
        await self.move_to(moment)

    async def move_to(self, moment: float) -> None:
        """Move the clock to a moment, and end what is over by then, without trying a pod."""
        self.clock.move_to(moment)
        self.scheduler.on_the_way.expire(self.clock.now())
        await self.settle()

    def _next_moment(self) -> float:
        scheduler, never = self.scheduler, math.inf
        moments = (
            self.queue.next_wakeup(),
            scheduler.on_the_way.next_deadline(),
            self.clock.next_wakeup,
        )
        return min(never if one is None else one for one in moments)

    async def _let_time_pass(self, repeats_errors: bool) -> bool:
        """Move the clock to the next moment at which something ends; False if there is none."""
        moments = [self.scheduler.on_the_way.next_deadline()]
        if self._is_backoff_awaited(repeats_errors):
            moments.append(self.queue.next_wakeup())
        if self.tasks.sleeping:
            moments.append(self.clock.next_wakeup)
        moment = min((one for one in moments if one is not None), default=None)
        if moment is None:
            return False
        await self.move_to(moment)
        return True

    def _is_backoff_awaited(self, repeats_errors: bool) -> bool:
        events, errors = self.queue.events, self._errors
        return any(
            repeats_errors or errors.get(pod.metadata.uid, -1) < events
            for pod in self.queue.pods_in(Place.BACKOFF)
        )

    def copy(self) -> Simulation:
        """Return a simulation that goes on from this state; neither influences the other.

        The copy has the objects, nominations, queue, random source and time of this one; its
        plugins start with these objects. A pod that waits at Permit or in PreBind is pending in the
        copy. Call it between two steps.
        """
        scheduler = self.scheduler
        twin = Simulation(
            self.cluster.objects(),
            clock=VirtualClock(self.clock.now()),
            random=copy(scheduler.random),
            **self._options,
        )
        for node_name in scheduler.nominator.nodes():
            for info in scheduler.nominator.nominated_on(node_name):
                twin.scheduler.nominator.add(info.pod, node_name)
        search = twin.scheduler.cycle.search
        search.next_start_node_index = scheduler.cycle.search.next_start_node_index
        if self.queue.is_open:
            twin.start()
            twin.queue.copy_from(self.queue)
            twin._errors = dict(self._errors)
        return twin

    async def close(self) -> None:
        """Drop what has not ended, and close every plugin; assumed pods stay where they are."""
        with self.inbox.busy():
            await self.tasks.stop(0.0)
        for profile in self.scheduler.profiles.values():
            for plugin in profile.plugins.values():
                await plugin.close()


async def schedule_all(simulation: Simulation, progress: Progress | None = None) -> Outcomes:
    """Schedule every pending pod of a cluster in memory, with retries if they may help."""
    recorder = simulation.recorder
    recorder.decisions, recorder.preemptors = {}, {}
    simulation.evicted = []
    simulation.start()
    gated = _gated(simulation)
    await simulation.step_until_quiet(progress=progress)
    # A gate may have opened meanwhile.
    still_gated = {uid: one for uid, one in gated.items() if uid not in recorder.decisions}
    return Outcomes(recorder.decisions | still_gated, simulation.evicted, recorder.preemptors)


def _gated(simulation: Simulation) -> dict[str, Decision]:
    """Return the decisions on the pods that PreEnqueue keeps out: the queue knows the plugin only.

    A pod also waits if PreEnqueue keeps another one of its group out.
    """
    queue, scheduler = simulation.queue, simulation.scheduler
    scheduler.take_in()
    pre_enqueue = PreEnqueue(scheduler.profiles, simulation.clock.now)
    decisions: dict[str, Decision] = {}
    gates: dict[str, Status] = {}
    others: list[Pod] = []
    for pod in (*queue.pods_in(Place.UNSCHEDULABLE), *queue.pods_without_group()):
        if pod.is_terminating or pod.metadata.uid in simulation.recorder.decisions:
            continue
        status = pre_enqueue.run(QueuedPodInfo(pod, simulation.clock.now(), 0))
        if status is None:
            others.append(pod)
            continue
        decision = decisions[pod.metadata.uid] = gated_decision(pod, status)
        simulation.recorder.gated(decision)
        gates[scheduling_group_key(pod)] = status
    for pod in others:
        status = gates.get(scheduling_group_key(pod))
        if status is None or pod.spec.scheduling_group is None:
            queue.activate([pod])
        else:
            decision = decisions[pod.metadata.uid] = gated_decision(pod, status)
            simulation.recorder.gated(decision, with_group=True)
    return decisions


def gated_decision(pod: Pod, status: Status) -> Decision:
    """Return the decision on a pod that PreEnqueue keeps out."""
    decision = Decision(pod, pod.spec.scheduler_name, Outcome.GATED, pre_enqueue=status)
    decision.errors = (status,) if status.is_error else ()
    return decision
