"""Protection of pod groups of scheduling.k8s.io that unfinished pods refer to."""

# kubernetes: pkg/controller/scheduling/podgroupprotection/podgroup_protection_controller.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, Pod
from mooring.api.scheduling import GROUP_FINALIZER
from mooring.controllers.controlled_kinds import POD_GROUPS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key

_INDEX = "unfinished-scheduling-group"


class PodGroupProtection(Controller):
    """The controller that lets a pod group be deleted once no unfinished pod refers to it."""

    name = "podgroup-protection-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._groups = self.watch(POD_GROUPS, itself)
        self._pods = self.watch(Pod, _group_of)
        self._pods.add_index(_INDEX, _unfinished)

    async def reconcile(self, key: Key) -> float | None:
        """Remove the finalizer from a group that is being deleted and not in use."""
        group: CustomResource | None = self._groups.get(key[1], key[0])
        if group is None or group.metadata.deletion_timestamp is None:
            return None
        finalizers = group.metadata.finalizers
        if GROUP_FINALIZER not in finalizers or any(self._pods.by_index(_INDEX, key)):
            return None
        kept = [one for one in finalizers if one != GROUP_FINALIZER]
        change = {"resourceVersion": group.metadata.resource_version, "finalizers": kept or None}
        await self.writer.patch_if_there(POD_GROUPS, *key, {"metadata": change})
        return None


def _group_of(pod: Pod) -> Iterable[Key]:
    group = pod.spec.scheduling_group
    if group is not None and group.pod_group_name is not None:
        yield pod.metadata.namespace, group.pod_group_name


def _unfinished(pod: Pod) -> Iterable[Key]:
    return () if pod.is_finished else _group_of(pod)
