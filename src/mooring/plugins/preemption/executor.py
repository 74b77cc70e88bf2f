"""Carrying out a preemption: remove the victims, and clear lower nominations on the node.

A victim that is only assumed (it waits at Permit, or its PreBind is running) is rejected in
memory; others get the condition DisruptionTarget and are deleted. With the gate
SchedulerAsyncPreemption this runs in a task beside the scheduling loop, and PreEnqueue keeps the
preemptor out of the queue until the last victim is being deleted.

# kube-scheduler: framework/preemption/executor.go
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mooring.api import Condition, Pod
from mooring.api.pod_conditions import condition_patch
from mooring.errors import ApiError, LeaseExpiredError
from mooring.framework.handle import Handle
from mooring.observe.logs import vlog
from mooring.observe.metrics import ERROR, SUCCESS

log = logging.getLogger(__name__)

_NOT_FOUND = 404

GONE = "Victim Pod is already deleted"
PREEMPTED = "Preemptor Pod preempted victim Pod"
FAILED = "Error occurred during async preemption"

#: Seconds until a preemption is retried that failed because the lease had expired.
LEASE_WAIT = 1.0


class Executor:
    """The part of the plugin that carries out preemptions. Owned by the plugin."""

    def __init__(self, plugin: str, handle: Handle) -> None:
        self._plugin = plugin
        self._handle = handle
        #: By uid of a preemptor whose victims are being removed: the last victim once its removal
        #: begins, None until then.
        self._preempting: dict[str, Pod | None] = {}

    def is_preempting(self, uid: str) -> bool:
        """Return whether a pod must still wait for its own preemption."""
        if uid not in self._preempting:
            return False
        last = self._preempting[uid]
        if last is None:
            return True
        # The deletion of the last victim requeues the preemptor, so it must not be gated by then.
        current = self._handle.lister(Pod).get(last.metadata.name, last.metadata.namespace)
        return current is not None and current.metadata.deletion_timestamp is None

    def start(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        """Carry out a preemption in a task beside the scheduling loop."""
        leaving = [pod for pod in victims if pod.metadata.deletion_timestamp is None]
        if leaving:
            self._handle.metrics.preemption_victims.observe(len(victims))
            self._preempting[preemptor.metadata.uid] = None
            self._handle.spawn(self._run_beside(preemptor, node_name, leaving), preemptor)
            vlog(
                log,
                2,
                "Start the preemption asynchronously",
                preemptor=preemptor,
                node=node_name,
                numVictims=len(victims),
                numVictimsToDelete=len(leaving),
            )

    async def _run_beside(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        uid = preemptor.metadata.uid
        start = self._handle.clock.now()
        result = SUCCESS
        try:
            await self._clear_lower_nominations(preemptor, node_name)
            for victim in victims[:-1]:
                await self._preempt(preemptor, node_name, victim)
            self._preempting[uid] = victims[-1]
            await self._preempt(preemptor, node_name, victims[-1])
            if not self._are_left(node_name, victims):
                # If the victims went while PreEnqueue gated the preemptor, no other event requeues
                # it. kube-scheduler leaves that to the flush after 5 minutes.
                self._preempting.pop(uid, None)
                self._handle.activate((preemptor,))
        except ApiError as error:
            result = ERROR
            if isinstance(error, LeaseExpiredError):
                # The client refused without a request to the server; an immediate retry would spin.
                vlog(log, 2, FAILED, preemptor=preemptor, err=error)
                await self._handle.clock.sleep(LEASE_WAIT)
            else:
                log.exception(FAILED)
            self._preempting.pop(uid, None)
            self._handle.activate((preemptor,))
        finally:
            self._preempting.pop(uid, None)
            metrics = self._handle.metrics
            metrics.preemption_goroutines[result].inc()
            seconds = self._handle.clock.now() - start
            metrics.preemption_goroutines_duration[result].observe(seconds)
            vlog(
                log,
                2,
                "Async Preemption finished completely",
                preemptor=preemptor,
                node=node_name,
                result=result,
            )

    async def run(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        """Carry out a preemption within the cycle (gate SchedulerAsyncPreemption off)."""
        self._handle.metrics.preemption_victims.observe(len(victims))
        for victim in victims:
            if victim.metadata.deletion_timestamp is None:
                await self._preempt(preemptor, node_name, victim)
        await self._clear_lower_nominations(preemptor, node_name)

    async def _clear_lower_nominations(self, preemptor: Pod, node_name: str) -> None:
        for info in list(self._handle.nominator.nominated_on(node_name)):
            if info.priority < preemptor.priority:
                self._handle.nominator.delete(info.uid)
                meta = info.pod.metadata
                await self._handle.client.patch(
                    Pod,
                    meta.name,
                    meta.namespace,
                    {"metadata": {"uid": meta.uid}, "status": {"nominatedNodeName": None}},
                    subresource="status",
                )

    def _are_left(self, node_name: str, victims: Sequence[Pod]) -> bool:
        node = self._handle.snapshot.find(node_name)
        return node is not None and any(pod.metadata.uid in node.pods for pod in victims)

    async def _preempt(self, preemptor: Pod, node_name: str, victim: Pod) -> None:
        note = f"Preempted by pod {preemptor.metadata.uid} on node {node_name}"
        if self._take_back(victim):
            note += " (in kube-scheduler memory)."
        else:
            try:
                await self._delete(preemptor, victim)
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    raise
                vlog(log, 2, GONE, preemptor=preemptor, victim=victim, node=node_name)
                return
            vlog(log, 2, PREEMPTED, preemptor=preemptor, victim=victim, node=node_name)
        # The event has no related object: kube-scheduler tries to pass the preemptor, but what it
        # passes is not an object.
        self._handle.events.event(victim, "Normal", "Preempted", "Preempting", note)

    def _take_back(self, victim: Pod) -> bool:
        uid = victim.metadata.uid
        waiting = self._handle.waiting_pod(uid)
        if waiting is not None:
            return waiting.preempt(self._plugin, "preempted")
        binding = self._handle.pre_binding_pod(uid)
        return binding is not None and binding.cancel(f"preempted by {self._plugin}")

    async def _delete(self, preemptor: Pod, victim: Pod) -> None:
        meta = victim.metadata
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher "
            "priority pod",
        )
        status = condition_patch(victim, condition, self._handle.clock.now())
        if status:
            patch = {"metadata": {"uid": meta.uid}, "status": status}
            await self._handle.client.patch(
                Pod, meta.name, meta.namespace, patch, subresource="status"
            )
        await self._handle.client.delete(Pod, meta.name, meta.namespace, uid=meta.uid)
