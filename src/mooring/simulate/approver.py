"""Approver: a Permit plugin for soaks, which lets pods wait, and answers late, no, or never."""

from __future__ import annotations

import asyncio

from mooring.api import Pod
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status

#: Pods with this label wait for an answer.
LABEL = "needs-approval"
#: Seconds that a pod waits at most.
PATIENCE = 10.0
#: From this moment of the loop's time on, every answer is yes and comes soon.
CALM_FROM = 90.0


class Approver(Plugin):
    """Hold some pods at Permit; those that are refused are made active again after a while."""

    name = "Approver"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Have a pod wait, and answer on the loop's time."""
        if LABEL not in pod.metadata.labels:
            return None
        random, loop = self.handle.random, asyncio.get_running_loop()
        if loop.time() >= CALM_FROM:
            seconds, yes = 0.5, True
        else:
            # One in three comes too late.
            seconds, yes = random.uniform(0.0, PATIENCE * 1.5), random.random() < 0.7
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
        """Agree: there is nothing to keep."""
        return None

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Try a pod again that was refused: nothing that happens in the cluster would."""
        if LABEL in pod.metadata.labels:
            asyncio.get_running_loop().call_later(2.0, self.handle.activate, (pod,))
