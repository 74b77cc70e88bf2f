"""SchedulingGates: hold a pod back until its gates are removed."""

# kube-scheduler: plugins/schedulinggates/scheduling_gates.go

from __future__ import annotations

from mooring.api import Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status

WAITING = "waiting for scheduling gates: [{}]"


class SchedulingGates(Plugin):
    """The plugin that keeps pods with scheduling gates out of the active queue."""

    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Refuse a pod that still has gates."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        return Status.unresolvable(WAITING.format(" ".join(gate.name for gate in gates)))

    def events_to_register(self) -> list[ClusterEvent]:
        """Return the event that a pod's gates were removed."""
        return [
            ClusterEvent(
                EventResource.TARGET_POD,
                ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            )
        ]
