"""The binding cycle: carrying out a decision, beside the scheduling loop.

Cache and queue belong to the scheduling loop. The binding cycle only calls plugins and the API
server, and returns its result. It has two parts: `prepare` comes before the wait at Permit,
`finish` begins with it. If the wait has already ended and no plugin suspends, neither does a
binding cycle, so it can be driven without an event loop.

# kube-scheduler: schedule_one.go (bindingCycle)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.binding.binding_points import (
    run_bind,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
)
from mooring.binding.status_writer import PodStatusWriter, StatusChange
from mooring.cycle.profile import Profile
from mooring.framework.extender import Extender
from mooring.framework.handle import EventWriter
from mooring.framework.plugin_errors import error_message, raise_if_external
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.clock import Clock
from mooring.observe.logs import kv, log_error, vlog
from mooring.observe.metrics import Metrics

log = logging.getLogger(__name__)

_WAITING = "waiting on permit for pod: {}"
_CANCELLED_ITSELF = "a PreBind plugin cancelled the task that it runs in"


#: Starts a coroutine as a task, which can be cancelled.
StartTask = Callable[[Coroutine[Any, Any, Status | None]], "asyncio.Task[Status | None]"]

#: Waits until a wait at Permit has ended.
WaitFor = Callable[[PermitWait], Coroutine[Any, Any, None]]


async def wait_in_task(wait: PermitWait) -> None:
    """Suspend the current asyncio task until a wait at Permit has ended."""
    done = asyncio.Event()
    wait.when_done(done.set)
    await done.wait()


class AssumedPod(msgspec.Struct):
    """A pod that has a node and a reservation there. Owned by its scheduling attempt."""

    #: As assumed: with the node's name.
    pod: Pod
    node_name: str
    state: CycleState
    profile: Profile
    #: The pod's wait at Permit; None if no plugin asked for one.
    wait: PermitWait | None
    #: How many nodes Filter was asked about, and how many of them were feasible.
    evaluated_nodes: int
    feasible_nodes: int
    #: Whether a PreBind plugin may have work to do. Set by `BindingCycles.prepare`.
    has_work: bool = True
    #: Whether the wait at Permit is over and the pod may be bound. Set by `BindingCycles.finish`.
    permitted: bool = False


class BindingCycles:
    """The binding cycles of a scheduler, shared by all its profiles."""

    def __init__(
        self,
        *,
        on_the_way: BindingPods,
        status_writer: PodStatusWriter,
        extenders: Sequence[Extender],
        events_of: Callable[[str], EventWriter],
        clock: Clock,
        metrics: Metrics,
        nominates: bool,
        permitted: Callable[[str], object],
        start_task: StartTask | None = asyncio.ensure_future,
        wait_for: WaitFor = wait_in_task,
    ) -> None:
        """Make the binding cycles.

        `permitted` is called with a pod's uid when its wait at Permit is over: from then on events
        no longer concern its attempt. PreBind runs in a task of its own, made by `start_task`, so
        that it can be cancelled. With None, for use without an event loop, PreBind runs in place,
        and a pod that is cancelled meanwhile fails when PreBind returns. `wait_for` suspends a
        binding cycle while its pod waits at Permit.
        """
        self._on_the_way = on_the_way
        self._status_writer = status_writer
        self._extenders = extenders
        self._events_of = events_of
        self._clock = clock
        self._metrics = metrics
        #: Gate NominatedNodeNameForExpectation: nominate the pod before it waits or PreBind works.
        self._nominates = nominates
        self._permitted = permitted
        self._start_task = start_task
        self._wait_for = wait_for

    async def prepare(self, placement: AssumedPod) -> Status | None:
        """Do what comes before the wait at Permit; return why it failed, or None.

        Ask the PreBind plugins whether they have work, and nominate the pod if it will take time to
        bind it.
        """
        if not self._nominates:
            return None
        pod, node_name = placement.pod, placement.node_name
        flights = run_pre_bind_pre_flights(placement.profile, placement.state, pod, node_name)
        if flights is not None and not flights.is_skip:
            return flights
        placement.has_work = flights is None
        if placement.has_work or placement.wait is not None:
            # Before the bind, which ends the nomination: afterwards the server refuses it.
            await self._status_writer.write_first(pod, StatusChange(nominated_node_name=node_name))
        return None

    async def finish(self, placement: AssumedPod) -> Status | None:
        """Wait at Permit and bind a pod; return why that failed, or None."""
        if placement.wait is not None:
            status = await self._wait_on_permit(placement, placement.wait)
            if status is not None:
                return status
        placement.permitted = True
        self._permitted(placement.pod.metadata.uid)
        status = await self._pre_bind(placement)
        if status is not None:
            return status
        status = await self._bind(placement)
        pod = placement.pod
        if status is not None:
            vlog(log, 1, "Failed to bind pod", pod=pod)
            return status
        self._events_of(placement.profile.name).event(
            pod,
            "Normal",
            "Scheduled",
            "Binding",
            f"Successfully assigned {pod.key} to {placement.node_name}",
        )
        return None

    async def tell(self, placement: AssumedPod) -> Sequence[Status]:
        """Run PostBind of a pod that has been bound; return the faults."""
        faults = await run_post_bind(
            placement.profile, placement.state, placement.pod, placement.node_name
        )
        for fault in faults:
            log_error(log, fault.message, "PostBind failed", pod=placement.pod)
            log_traceback(fault, placement.pod)
        return faults

    async def _wait_on_permit(self, placement: AssumedPod, wait: PermitWait) -> Status | None:
        start = self._clock.now()
        vlog(log, 4, "Pod waiting on permit", pod=placement.pod)
        outcome = wait.outcome
        if outcome is None:
            await self._wait_for(wait)
            outcome = wait.outcome
            assert outcome is not None
        self._on_the_way.remove_waiting(placement.pod.metadata.uid)
        result = outcome.code.label
        self._metrics.permit_wait_duration[result].observe(self._clock.now() - start)
        if outcome.is_success:
            return None
        if outcome.is_rejected:
            vlog(log, 4, "Pod rejected while waiting on permit", pod=placement.pod)
            return outcome
        text = _WAITING.format(outcome.message)
        return Status(Code.ERROR, (text,), plugin=outcome.plugin)

    async def _pre_bind(self, placement: AssumedPod) -> Status | None:
        work = run_pre_bind(placement.profile, placement.state, placement.pod, placement.node_name)
        if not placement.has_work:
            return await work
        uid = placement.pod.metadata.uid
        task = None if self._start_task is None else self._start_task(work)
        under_way = self._on_the_way.add_pre_binding(uid, None if task is None else task.cancel)
        try:
            status = await (work if task is None else task)
        except asyncio.CancelledError as cancelled:
            if under_way.cancelled:
                return Status.error(under_way.cancelled)
            if task is not None:
                task.cancel()
            raise_if_external(cancelled)
            return Status.error(_CANCELLED_ITSELF)
        finally:
            self._on_the_way.remove_pre_binding(uid)
        if status is None and not under_way.finish():
            return Status.error(under_way.cancelled)
        return status

    async def _bind(self, placement: AssumedPod) -> Status | None:
        pod, node_name = placement.pod, placement.node_name
        await self._status_writer.settle(pod.metadata.uid)
        for extender in self._extenders:
            if not extender.is_binder or not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node_name)
            except BaseException as error:
                raise_if_external(error)
                if extender.ignorable:
                    log.info(
                        "Skipping extender in bind as it returned error and has ignorable flag set",
                        extra={"kv": {"extender": extender.name, "err": error}},
                    )
                    continue
                return Status.error(error_message(error))
            return None
        return await run_bind(placement.profile, placement.state, pod, node_name)


def log_traceback(status: Status, pod: Pod) -> None:
    """Log where a plugin raised, if it did."""
    if status.traceback:
        pairs = kv(plugin=status.plugin, pod=pod, traceback=status.traceback)
        log.error("A plugin raised an exception", extra=pairs)
