"""Approver: a Permit plugin for soaks, which makes pods wait, and approves late, never, or refuses.

It registers for new nodes. A pod that is refused must therefore be retried if a node was added
since it began to wait: that event happened while the pod was in flight, and the queue must not lose
it. If no node was added, the plugin activates the pod.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mooring.api import Node, Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.handle import Handle
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status

#: Pods with this label wait for approval.
LABEL = "needs-approval"
#: Timeout of a waiting pod, in seconds.
PATIENCE = 10.0
#: From this moment of the loop's time on, every pod is approved soon.
CALM_FROM = 90.0


class Approver(Plugin):
    """The plugin that holds some pods at Permit; refused pods are activated after a while."""

    name = "Approver"

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        #: The nodes that existed when a pod began to wait.
        self._nodes: dict[str, set[str]] = {}

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the event of a new node."""
        return [ClusterEvent(EventResource.NODE, ActionType.ADD)]

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Make a pod wait, and approve or refuse it later on the loop's time."""
        if LABEL not in pod.metadata.labels:
            return None
        random, loop = self.handle.random, asyncio.get_running_loop()
        if loop.time() >= CALM_FROM:
            seconds, yes = 0.5, True
        else:
            # One decision in three comes after the timeout.
            seconds, yes = random.uniform(0.0, PATIENCE * 1.5), random.random() < 0.7
        self._nodes[pod.metadata.uid] = self._names()
        if seconds < PATIENCE:
            loop.call_later(seconds, self._answer, pod.metadata.uid, yes)
        return Status.wait(PATIENCE)

    def _answer(self, uid: str, yes: bool) -> None:
        waiting = self.handle.waiting_pod(uid)
        if waiting is None:
            return
        if yes:
            waiting.allow(self.name)
        else:
            waiting.reject(self.name, "not approved")

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Accept; there is nothing to reserve."""
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Activate a pod later, unless a new node requeues it anyway."""
        before = self._nodes.pop(pod.metadata.uid, None)
        if before is not None and self._names() <= before:
            asyncio.get_running_loop().call_later(2.0, self.handle.activate, (pod,))

    def _names(self) -> set[str]:
        return {node.metadata.name for node in self.handle.lister(Node).list()}
