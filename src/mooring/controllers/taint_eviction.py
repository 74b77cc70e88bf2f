"""Taint eviction: deletes pods that do not tolerate a NoExecute taint of their node."""

# kubernetes: pkg/controller/tainteviction/taint_eviction.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Node, Pod, Taint, parse_time, tolerates
from mooring.client.client import STRATEGIC
from mooring.controllers.component_events import NORMAL
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.work_queue import Key

NO_EXECUTE = "NoExecute"


class TaintEvictionController(Controller):
    """The controller that evicts pods at once, or after the time they tolerate a taint."""

    name = "taint-eviction-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, self._tainted)
        self._pods.add_index("node", lambda pod: (pod.spec.node_name,))
        self._nodes = self.watch(Node, self._pods_of)

    def _tainted(self, pod: Pod) -> Iterable[Key]:
        node: Node | None = self.context.store(Node).get(pod.spec.node_name)
        if node is not None and any(taint.effect == NO_EXECUTE for taint in node.spec.taints):
            yield pod.metadata.namespace, pod.metadata.name

    def _pods_of(self, node: Node) -> Iterable[Key]:
        if any(taint.effect == NO_EXECUTE for taint in node.spec.taints):
            for pod in self._pods.by_index("node", node.metadata.name):
                yield pod.metadata.namespace, pod.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Evict a pod that does not tolerate its node's taints any longer."""
        pod: Pod | None = self._pods.get(key[1], key[0])
        if pod is None or pod.is_terminating or pod.is_finished:
            return None
        node: Node | None = self._nodes.get(pod.spec.node_name)
        taints = [one for one in node.spec.taints if one.effect == NO_EXECUTE] if node else []
        if not taints:
            return None
        seconds = tolerated_seconds(pod, taints)
        if seconds is None:
            return None
        now = self.context.clock.wall_time()
        since = max((parse_time(one.time_added) for one in taints if one.time_added), default=now)
        left = since + seconds - now
        if left > 0:
            return left
        await self._evict(pod)
        return None

    async def _evict(self, pod: Pod) -> None:
        metadata = pod.metadata
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": self.context.timestamp(),
        }
        patch = {"metadata": {"uid": metadata.uid}, "status": {"conditions": [condition]}}
        await self.writer.patch(PODS, metadata.namespace, metadata.name, patch, "status", STRATEGIC)
        text = f"Marking for deletion Pod {pod.key}"
        self.events.record(pod, NORMAL, "TaintManagerEviction", text)
        await self.writer.delete(PODS, pod)


def tolerated_seconds(pod: Pod, taints: Iterable[Taint]) -> float | None:
    """Return the seconds a pod tolerates all of these taints; 0 if it does not, None if always."""
    shortest: float | None = None
    for taint in taints:
        matching = [one for one in pod.spec.tolerations if tolerates(one, taint)]
        if not matching:
            return 0.0
        for toleration in matching:
            if toleration.toleration_seconds is not None:
                seconds = max(0.0, float(toleration.toleration_seconds))
                shortest = seconds if shortest is None else min(shortest, seconds)
    return shortest
