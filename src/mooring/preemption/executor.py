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
from typing import Any

import msgspec

from mooring.api import AnyPodGroup, Condition, Pod
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

#: Seconds until a failed preemption is retried. An immediate retry would spin for as long as a
#: victim cannot be deleted.
RETRY_WAIT = 1.0


#: The name of the domain of a group's preemption, where a pod's has the node's name.
CLUSTER = "cluster"


class _Preemptor(msgspec.Struct, frozen=True):
    """A pod or pod group whose victims are removed."""

    obj: Pod | AnyPodGroup
    #: The word for it in texts and metrics: "pod", "podgroup" or "compositepodgroup".
    kind: str
    scheduler_name: str
    #: The pods that are tried again when the victims are gone.
    pods: Sequence[Pod]
    #: The nodes that the pods are nominated to, and how texts name them.
    node_names: Sequence[str]
    place: str

    @property
    def uid(self) -> str:
        """Return the uid of the pod or group."""
        return self.obj.metadata.uid

    @property
    def related(self) -> Any:
        """Return the related object of Events.

        There is none for a pod: kube-scheduler tries to pass it, but what it passes is no object.
        """
        return None if isinstance(self.obj, Pod) else self.obj


def _of_pod(pod: Pod, node_name: str) -> _Preemptor:
    return _Preemptor(pod, "pod", pod.spec.scheduler_name, (pod,), (node_name,), node_name)


def _of_group(group: AnyPodGroup, pods: Sequence[Pod], node_names: Sequence[str]) -> _Preemptor:
    name = pods[0].spec.scheduler_name
    return _Preemptor(group, group.entity_type, name, pods, node_names, CLUSTER)


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
        self._start(_of_pod(preemptor, node_name), victims)

    def start_for_group(
        self,
        group: AnyPodGroup,
        pods: Sequence[Pod],
        node_names: Sequence[str],
        victims: Sequence[Pod],
    ) -> None:
        """Carry out the preemption of a group beside the scheduling loop.

        `pods` are the pods of the group that wait for it, `node_names` their nominated nodes.
        """
        self._start(_of_group(group, pods, node_names), victims)

    def _start(self, preemptor: _Preemptor, victims: Sequence[Pod]) -> None:
        leaving = [pod for pod in victims if pod.metadata.deletion_timestamp is None]
        if leaving or self._handle.features.release.counts_leaving_victims:
            self._observe(preemptor, victims)
        if leaving:
            self._preempting[preemptor.uid] = None
            self._handle.spawn(self._run_beside(preemptor, leaving), preemptor.pods[0])
            vlog(
                log,
                2,
                "Start the preemption asynchronously",
                preemptor=preemptor.obj,
                node=preemptor.place,
                numVictims=len(victims),
                numVictimsToDelete=len(leaving),
            )

    def _observe(self, preemptor: _Preemptor, victims: Sequence[Pod]) -> None:
        metrics = self._handle.metrics
        of_pod = isinstance(preemptor.obj, Pod)
        counted = metrics.preemption_victims if of_pod else metrics.workload_preemption_victims
        counted.observe(len(victims))

    async def _run_beside(self, preemptor: _Preemptor, victims: Sequence[Pod]) -> None:
        uid = preemptor.uid
        start = self._handle.clock.now()
        result = SUCCESS
        try:
            await self._clear_lower_nominations(preemptor)
            for victim in victims[:-1]:
                await self._preempt(preemptor, victim)
            self._preempting[uid] = victims[-1]
            await self._preempt(preemptor, victims[-1])
            if not self._are_left(victims):
                # If the victims went while PreEnqueue gated the preemptor, no other event requeues
                # it. kube-scheduler leaves that to the flush after 5 minutes.
                self._preempting.pop(uid, None)
                self._handle.activate(preemptor.pods)
        except ApiError as error:
            result = ERROR
            if isinstance(error, LeaseExpiredError):
                # The client refused without a request to the server.
                vlog(log, 2, FAILED, preemptor=preemptor.obj, err=error)
            else:
                log.exception(FAILED)
        finally:
            self._preempting.pop(uid, None)
            metrics = self._handle.metrics
            metrics.preemption_goroutines[result].inc()
            seconds = self._handle.clock.now() - start
            metrics.preemption_goroutines_duration[result].observe(seconds)
            metrics.preemption_execution_duration[preemptor.kind, result].observe(seconds)
            vlog(
                log,
                2,
                "Async Preemption finished completely",
                preemptor=preemptor.obj,
                node=preemptor.place,
                result=result,
            )
        if result == ERROR:
            await self._handle.clock.sleep(RETRY_WAIT)
            self._handle.activate(preemptor.pods)

    async def run(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        """Carry out a preemption within the cycle (gate SchedulerAsyncPreemption off)."""
        await self._run(_of_pod(preemptor, node_name), victims)

    async def run_for_group(
        self,
        group: AnyPodGroup,
        pods: Sequence[Pod],
        node_names: Sequence[str],
        victims: Sequence[Pod],
    ) -> None:
        """Carry out the preemption of a group within the cycle."""
        await self._run(_of_group(group, pods, node_names), victims)

    async def _run(self, preemptor: _Preemptor, victims: Sequence[Pod]) -> None:
        self._observe(preemptor, victims)
        now = self._handle.clock.now
        start, result = now(), ERROR
        try:
            for victim in victims:
                if victim.metadata.deletion_timestamp is None:
                    await self._preempt(preemptor, victim)
            result = SUCCESS
        finally:
            durations = self._handle.metrics.preemption_execution_duration
            durations[preemptor.kind, result].observe(now() - start)
        await self._clear_lower_nominations(preemptor)

    async def _clear_lower_nominations(self, preemptor: _Preemptor) -> None:
        nominator, priority = self._handle.nominator, preemptor.obj.priority
        for info in [one for name in preemptor.node_names for one in nominator.nominated_on(name)]:
            if info.priority < priority:
                nominator.delete(info.uid)
                meta = info.pod.metadata
                await self._handle.client.patch(
                    Pod,
                    meta.name,
                    meta.namespace,
                    {"metadata": {"uid": meta.uid}, "status": {"nominatedNodeName": None}},
                    subresource="status",
                )

    def _are_left(self, victims: Sequence[Pod]) -> bool:
        find = self._handle.snapshot.find
        return any(
            (node := find(pod.spec.node_name)) is not None and pod.metadata.uid in node.pods
            for pod in victims
        )

    async def _preempt(self, preemptor: _Preemptor, victim: Pod) -> None:
        node_name = preemptor.place
        note = f"Preempted by {preemptor.kind} {preemptor.uid} on node {node_name}"
        if self._take_back(victim):
            note += " (in kube-scheduler memory)."
        else:
            try:
                await self._delete(preemptor, victim)
            except ApiError as error:
                if error.status != _NOT_FOUND:
                    raise
                vlog(log, 2, GONE, preemptor=preemptor.obj, victim=victim, node=node_name)
                return
            vlog(log, 2, PREEMPTED, preemptor=preemptor.obj, victim=victim, node=node_name)
        events, related = self._handle.events, preemptor.related
        events.event(victim, "Normal", "Preempted", "Preempting", note, related)

    def _take_back(self, victim: Pod) -> bool:
        uid = victim.metadata.uid
        waiting = self._handle.waiting_pod(uid)
        if waiting is not None:
            return waiting.preempt(self._plugin, "preempted")
        binding = self._handle.pre_binding_pod(uid)
        return binding is not None and binding.cancel(f"preempted by {self._plugin}")

    async def _delete(self, preemptor: _Preemptor, victim: Pod) -> None:
        meta = victim.metadata
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{preemptor.scheduler_name}: preempting to accommodate a higher "
            f"priority {preemptor.kind}",
        )
        status = condition_patch(victim, condition, self._handle.clock.wall_time())
        if status:
            patch = {"metadata": {"uid": meta.uid}, "status": status}
            await self._handle.client.patch(
                Pod, meta.name, meta.namespace, patch, subresource="status"
            )
        await self._handle.client.delete(Pod, meta.name, meta.namespace, uid=meta.uid)
