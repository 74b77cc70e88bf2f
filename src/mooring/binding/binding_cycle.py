"""The binding cycle: making a decision true, beside the scheduling loop.

Cache and queue belong to the scheduling loop: this only talks to plugins and to the API server, and
hands back how it ended.

# kube-scheduler: schedule_one.go (bindingCycle)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import msgspec

from mooring.api import Pod
from mooring.binding.binding_pods import BindingPods, PermitWait
from mooring.binding.binding_points import (
    run_bind,
    run_post_bind,
    run_pre_bind,
    run_pre_bind_pre_flights,
)
from mooring.binding.status_writer import StatusChange, StatusWriter
from mooring.cycle.profile import Profile
from mooring.framework.extender import Extender
from mooring.framework.handle import EventWriter
from mooring.framework.plugin_errors import error_message, raise_if_external
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error, vlog
from mooring.observe.metrics import Metrics

log = logging.getLogger(__name__)

_WAITING = "waiting on permit for pod: {}"
_CANCELLED_ITSELF = "a PreBind plugin cancelled the task that it runs in"


class AssumedPod(msgspec.Struct, frozen=True):
    """A pod that has a node and a reservation there."""

    #: As assumed: with the node's name.
    pod: Pod
    node_name: str
    state: CycleState
    profile: Profile
    #: Where the pod waits at Permit.
    wait: PermitWait | None
    #: How many nodes were asked, and how many of them would have done.
    evaluated_nodes: int
    feasible_nodes: int


class BindingCycles:
    """Run binding cycles. Shared by all profiles of a scheduler."""

    def __init__(
        self,
        *,
        on_the_way: BindingPods,
        status_writer: StatusWriter,
        extenders: Sequence[Extender],
        events_of: Callable[[str], EventWriter],
        clock: Clock,
        metrics: Metrics,
        nominates: bool,
    ) -> None:
        self._on_the_way = on_the_way
        self._status_writer = status_writer
        self._extenders = extenders
        self._events_of = events_of
        self._clock = clock
        self._metrics = metrics
        #: Gate NominatedNodeNameForExpectation: say early where the pod is going.
        self._nominates = nominates

    async def run(self, placement: AssumedPod, permitted: Callable[[], None]) -> Status | None:
        """Bind a pod; return why it failed, or None.

        `permitted` is called once the pod's wait at Permit is over: from then on events that happen
        meanwhile no longer concern its attempt.
        """
        pod, node_name = placement.pod, placement.node_name
        state, profile = placement.state, placement.profile
        has_work = True
        if self._nominates:
            flights = run_pre_bind_pre_flights(profile, state, pod, node_name)
            if flights is not None and not flights.is_skip:
                return flights
            has_work = flights is None
            if has_work or placement.wait is not None:
                # Before the bind, which ends the nomination: afterwards the server refuses it.
                await self._status_writer.write_first(
                    pod, StatusChange(nominated_node_name=node_name)
                )
        status = await self._wait_on_permit(placement)
        if status is not None:
            return status
        permitted()
        status = await self._pre_bind(placement, has_work)
        if status is not None:
            return status
        status = await self._bind(placement)
        if status is not None:
            vlog(log, 1, "Failed to bind pod", pod=pod)
            return status
        self._events_of(profile.name).event(
            pod,
            "Normal",
            "Scheduled",
            "Binding",
            f"Successfully assigned {pod.key} to {node_name}",
        )
        return None

    async def tell(self, placement: AssumedPod) -> None:
        """Run PostBind of a pod that has been bound."""
        faults = await run_post_bind(
            placement.profile, placement.state, placement.pod, placement.node_name
        )
        for fault in faults:
            log_error(log, fault.message, "PostBind failed", pod=placement.pod)
            log_traceback(fault, placement.pod)

    async def _wait_on_permit(self, placement: AssumedPod) -> Status | None:
        wait = placement.wait
        if wait is None:
            return None
        uid = placement.pod.metadata.uid
        start = self._clock.now()
        vlog(log, 4, "Pod waiting on permit", pod=placement.pod)
        done = asyncio.Event()
        wait.when_done(done.set)
        await done.wait()
        self._on_the_way.remove_waiting(uid)
        outcome = wait.outcome
        assert outcome is not None
        result = outcome.code.label
        self._metrics.permit_wait_duration[result].observe(self._clock.now() - start)
        if outcome.is_success:
            return None
        if outcome.is_rejected:
            vlog(log, 4, "Pod rejected while waiting on permit", pod=placement.pod)
            return outcome
        text = _WAITING.format(outcome.message)
        return Status(Code.ERROR, (text,), plugin=outcome.plugin)

    async def _pre_bind(self, placement: AssumedPod, has_work: bool) -> Status | None:
        work = run_pre_bind(placement.profile, placement.state, placement.pod, placement.node_name)
        if not has_work:
            return await work
        uid = placement.pod.metadata.uid
        task = asyncio.ensure_future(work)
        under_way = self._on_the_way.add_pre_binding(uid, task.cancel)
        try:
            status = await task
        except asyncio.CancelledError as cancelled:
            if under_way.cancelled:
                return Status.error(under_way.cancelled)
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
        log.error(status.traceback, extra={"kv": {"pod": pod, "plugin": status.plugin}})
