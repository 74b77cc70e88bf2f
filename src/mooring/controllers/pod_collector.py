"""Pod garbage collection: deletes pods whose node is gone."""

# kubernetes: pkg/controller/podgc/gc_controller.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import Node, Pod
from mooring.client.client import STRATEGIC
from mooring.controllers.controlled_kinds import PODS
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.work_queue import Key

#: gc_controller.go: quarantineTime, in case a node is deleted and created again.
QUARANTINE = 40.0


class PodCollector(Controller):
    """The controller that deletes pods bound to a node that no longer exists."""

    name = "pod-garbage-collector"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._missed: dict[Key, float] = {}
        self._pods = self.watch(Pod, self._lost)
        self._pods.add_index("node", lambda pod: (pod.spec.node_name,))
        self._nodes = self.watch(Node, self._pods_of)

    def _lost(self, pod: Pod) -> Iterable[Key]:
        key = (pod.metadata.namespace, pod.metadata.name)
        if key in self._missed or (pod.spec.node_name and self._nodes_lack(pod.spec.node_name)):
            yield key

    def _pods_of(self, node: Node) -> Iterable[Key]:
        if self._nodes_lack(node.metadata.name):
            for pod in self._pods.by_index("node", node.metadata.name):
                yield pod.metadata.namespace, pod.metadata.name

    def _nodes_lack(self, name: str) -> bool:
        return self.context.store(Node).get(name) is None

    async def reconcile(self, key: Key) -> float | None:
        """Delete a pod whose node has been gone for the quarantine time."""
        pod: Pod | None = self._pods.get(key[1], key[0])
        if pod is None or not pod.spec.node_name or not self._nodes_lack(pod.spec.node_name):
            self._missed.pop(key, None)
            return None
        now = self.context.clock.now()
        left = self._missed.setdefault(key, now) + QUARANTINE - now
        if left > 0:
            return left
        await self._delete(pod)
        self._missed.pop(key, None)
        return None

    async def _delete(self, pod: Pod) -> None:
        metadata = pod.metadata
        if not pod.is_finished:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
                "lastTransitionTime": self.context.timestamp(),
            }
            patch = {
                "metadata": {"uid": metadata.uid},
                "status": {"phase": "Failed", "conditions": [condition]},
            }
            await self.writer.patch(
                PODS, metadata.namespace, metadata.name, patch, "status", STRATEGIC
            )
        await self.writer.delete(PODS, pod, grace=0)
