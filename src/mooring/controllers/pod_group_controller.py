"""Pod groups of scheduling.x-k8s.io: the phase of each group, and the numbers of its pods."""

# scheduler-plugins: pkg/controllers/podgroup_controller.go

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.api import Pod, PodGroup
from mooring.api.pod_group import pod_group_name
from mooring.api.timestamps import format_time, parse_time
from mooring.client.resources import raw_resource
from mooring.controllers.component_events import WARNING
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key

POD_GROUPS = raw_resource(PodGroup)

PENDING, SCHEDULING, RUNNING = "Pending", "Scheduling", "Running"
FINISHED, FAILED = "Finished", "Failed"

#: A group that took longer to begin is left alone: its pods may have been collected as garbage.
LONGEST_SECONDS = 48 * 3600.0
TIMEOUT = "schedule time longer than 48 hours"


class PodGroupController(Controller):
    """The controller that writes the status of pod groups.

    The members of a group are the pods of its own namespace whose label names it.
    """

    name = "PodGroupController"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, _group_of)
        self._pods.add_index("pod-group", _group_of)
        self._groups = self.watch(PodGroup, itself)

    async def reconcile(self, key: Key) -> float | None:
        """Write the status of a group."""
        group: PodGroup | None = self._groups.get(key[1], key[0])
        if group is None or group.status.phase in (FINISHED, FAILED):
            return None
        if _is_too_old(group):
            self.events.record(group, WARNING, "Timeout", TIMEOUT)
            return None
        pods: list[Pod] = list(self._pods.by_index("pod-group", key))
        status = next_status(group, pods)
        if status.get("phase") == SCHEDULING and group.status.schedule_start_time is None:
            status |= _start_time(group, self.context.clock.wall_time())
        if status:
            patch = {"status": status}
            await self.writer.patch_if_there(POD_GROUPS, *key, patch, "status")
        return None


def next_status(group: PodGroup, pods: list[Pod]) -> dict[str, Any]:
    """Return the fields of a group's status that change, given its pods."""
    old, needed = group.status, group.spec.min_member
    if not old.phase:
        return {"phase": PENDING}
    if old.phase == PENDING:
        if len(pods) < needed:
            return {}
        occupied = _owners(pods[0]) if pods else ""
        return {"phase": SCHEDULING, **({"occupiedBy": occupied} if occupied else {})}
    phases = [pod.status.phase for pod in pods]
    counts = {
        "running": phases.count("Running"),
        "succeeded": phases.count("Succeeded"),
        "failed": phases.count("Failed"),
    }
    new = {"phase": _phase(len(pods), needed, **counts), **counts}
    return {name: value for name, value in new.items() if getattr(old, name) != value}


def _phase(members: int, needed: int, *, running: int, succeeded: int, failed: int) -> str:
    if members < needed:
        return PENDING
    if succeeded >= needed:
        return FINISHED
    if failed and failed + running + succeeded >= needed:
        return FAILED
    return RUNNING if succeeded + running >= needed else SCHEDULING


def _owners(pod: Pod) -> str:
    """Return "namespace/name" of the owners of a pod, sorted."""
    namespace = pod.metadata.namespace
    return ",".join(sorted(f"{namespace}/{one.name}" for one in pod.metadata.owner_references))


def _is_too_old(group: PodGroup) -> bool:
    status, created = group.status, group.metadata.creation_timestamp
    if status.phase not in (SCHEDULING, PENDING) or status.running or not created:
        return False
    begun = status.schedule_start_time
    return begun is not None and parse_time(begun) - parse_time(created) > LONGEST_SECONDS


def _start_time(group: PodGroup, now: float) -> dict[str, str]:
    """Return the start of scheduling as a field of the status, if it does not come too late.

    The original leaves the field to others, so it does not stop at groups that begin late.
    """
    created = group.metadata.creation_timestamp
    late = bool(created) and now - parse_time(created) > LONGEST_SECONDS
    return {} if late else {"scheduleStartTime": format_time(now)}


def _group_of(pod: Pod) -> Iterable[Key]:
    if name := pod_group_name(pod):
        yield pod.metadata.namespace, name
