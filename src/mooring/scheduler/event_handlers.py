"""Handlers of informer events, which update the cache and the queue.

# kube-scheduler: eventhandlers.go
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mooring.api import (
    AnyPodGroup,
    CompositePodGroup,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
    ResourceSlice,
    StorageClass,
    VolumeAttachment,
    WorkloadPodGroup,
)
from mooring.api.pod_resource_requests import is_resize_deferred
from mooring.binding.binding_pods import BindingPods
from mooring.cache.cache import Cache
from mooring.cycle.profile import Profile
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.features import FeatureGates
from mooring.framework.pod_groups import PodGroups
from mooring.informers.store import EventHandler
from mooring.observe.clock import Clock
from mooring.observe.log_limit import LogLimit
from mooring.observe.logs import log_error, vlog
from mooring.observe.metrics import Metrics
from mooring.queue import event_types
from mooring.scheduler.inbox import Inbox
from mooring.scheduler.taps import Taps

log = logging.getLogger(__name__)

_KINDS: Mapping[str, Any] = {
    EventResource.PERSISTENT_VOLUME: PersistentVolume,
    EventResource.PERSISTENT_VOLUME_CLAIM: PersistentVolumeClaim,
    EventResource.STORAGE_CLASS: StorageClass,
    EventResource.CSI_NODE: CSINode,
    EventResource.CSI_DRIVER: CSIDriver,
    EventResource.CSI_STORAGE_CAPACITY: CSIStorageCapacity,
    EventResource.VOLUME_ATTACHMENT: VolumeAttachment,
    EventResource.RESOURCE_CLAIM: ResourceClaim,
    EventResource.RESOURCE_SLICE: ResourceSlice,
    EventResource.DEVICE_CLASS: DeviceClass,
    EventResource.DEVICE_TAINT_RULE: DeviceTaintRule,
}
#: Handled separately, or not watched.
_OTHERS = frozenset(
    {
        EventResource.POD,
        EventResource.ASSIGNED_POD,
        EventResource.UNSCHEDULED_POD,
        EventResource.TARGET_POD,
        EventResource.NODE,
        EventResource.POD_GROUP,
        EventResource.COMPOSITE_POD_GROUP,
        EventResource.WILDCARD,
    }
)


POD_MOVED = "Pod updated on a different node than previously added to"
_RESIZE_BEGINS = "Assigned pod transitioned to deferred resize, adding to scheduling queue"
_RESIZE_ENDS = "Assigned pod is no longer deferred, removing from scheduling queue"
#: The events of groups, by the word for the kind and the action.
_GROUP_EVENTS: Mapping[tuple[str, ActionType], ClusterEvent] = {
    (kind.entity_type, action): ClusterEvent(resource, action)
    for kind, resource in (
        (WorkloadPodGroup, EventResource.POD_GROUP),
        (CompositePodGroup, EventResource.COMPOSITE_POD_GROUP),
    )
    for action in (ActionType.ADD, ActionType.UPDATE, ActionType.DELETE)
}


class Informers(Protocol):
    """The informers of a scheduler, by kind."""

    def informer(self, kind: Any) -> Any:
        """Return the informer; a custom resource is named "plural.version.group"."""
        ...


class PendingPods(Protocol):
    """The pods without a node, which wait for changes; `queue.SchedulingQueue` is one."""

    def add(self, pod: Pod) -> None:
        """Add a pod."""
        ...

    def update(self, old: Pod, new: Pod) -> None:
        """Replace a pod object."""
        ...

    def delete(self, pod: Pod) -> None:
        """Remove a pod."""
        ...

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Move the pods that a change may have made schedulable."""
        ...

    def add_group(self, group: AnyPodGroup) -> None:
        """Take note of a new pod group."""
        ...

    def update_group(self, group: AnyPodGroup) -> None:
        """Replace a pod group."""
        ...

    def delete_group(self, group: AnyPodGroup) -> None:
        """Remove a pod group."""
        ...


class ClusterEvents:
    """The handlers that keep cache and queue up to date. Owned by the scheduling loop.

    With `every_pod`, pending pods are handled whatever their scheduler; otherwise only those that
    name one of the profiles.
    """

    def __init__(
        self,
        *,
        cache: Cache,
        queue: PendingPods,
        profiles: Mapping[str, Profile],
        on_the_way: BindingPods,
        inbox: Inbox,
        features: FeatureGates,
        clock: Clock,
        metrics: Metrics,
        every_pod: bool = False,
        taps: Taps | None = None,
        pod_groups: PodGroups | None = None,
    ) -> None:
        self._cache = cache
        self._every_pod = every_pod
        self._taps = taps
        self._pod_groups = pod_groups
        self._queue = queue
        self._profiles = profiles
        self._on_the_way = on_the_way
        self._inbox = inbox
        self._changes = event_types.Changes(features)
        self._resizes = features.enabled("InPlacePodVerticalScalingSchedulerPreemption")
        self._clock = clock
        self._metrics = metrics
        #: Limits the lines about pods whose node changed.
        self._moves = LogLimit()

    def attach(self, informers: Informers) -> None:
        """Add handlers for pods, nodes, and every kind that a plugin has registered for."""
        self._listen(informers, Pod, self._pod_added, self._pod_updated, self._pod_deleted)
        self._listen(informers, Node, self._node_added, self._node_updated, self._node_deleted)
        if self._pod_groups is not None:
            kinds = (CompositePodGroup,) if self._pod_groups.has_composites else ()
            for kind in (WorkloadPodGroup, *kinds):
                self._listen(
                    informers, kind, self._group_added, self._group_updated, self._group_deleted
                )
        self.attach_registered(informers)

    def attach_registered(self, informers: Informers) -> None:
        """Add handlers for the other kinds that a plugin has registered for."""
        for resource, actions in self._wanted().items():
            kind = _KINDS.get(resource, resource)
            self._listen(
                informers,
                kind,
                self._mover(resource, ActionType.ADD, actions),
                self._mover(resource, ActionType.UPDATE, actions),
                self._mover(resource, ActionType.DELETE, actions),
            )

    def _wanted(self) -> dict[str, ActionType]:
        """Return the kinds that plugins have registered for, with the actions."""
        wanted: dict[str, ActionType] = {}
        for profile in self._profiles.values():
            for plugin in profile.plugins.values():
                register = getattr(plugin, "events_to_register", None)
                for event in register() if register is not None else _EVERY_KIND:
                    if event.resource not in _OTHERS:
                        so_far = wanted.get(event.resource, ActionType.NONE)
                        wanted[event.resource] = so_far | event.actions
        return wanted

    def _listen(
        self,
        informers: Informers,
        kind: Any,
        added: Callable[[Any], None] | None,
        updated: Callable[[Any, Any], None] | None,
        deleted: Callable[[Any], None] | None,
    ) -> None:
        handler: EventHandler[Any] = EventHandler(added, updated, deleted)
        informers.informer(kind).add_handler(posting_handler(self._inbox, handler))

    def _mover(
        self, resource: str, action: ActionType, wanted: ActionType
    ) -> Callable[..., None] | None:
        if not wanted & action:
            return None
        event = ClusterEvent(resource, action)

        def move(old: Any, new: Any) -> None:
            start = self._clock.now()
            self._move(event, old, new)
            self._observe(event, start)

        if action is ActionType.UPDATE:
            return move
        if action is ActionType.ADD:
            return lambda new: move(None, new)
        return lambda old: move(old, None)

    def _move(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        self._queue.move_all(event, old, new, check)

    def _observe(self, event: ClusterEvent, start: float) -> None:
        self._metrics.event_handling_duration[event.label].observe(self._clock.now() - start)

    def _move_for_update(
        self, happened: Sequence[ClusterEvent], old: Any, new: Any, start: float
    ) -> None:
        """Move pods for each event that an update causes; the metrics add the update's own time."""
        updating = self._clock.now() - start
        for event in happened:
            begin = self._clock.now()
            self._move(event, old, new)
            self._observe(event, begin - updating)

    # Nodes.

    def _node_added(self, node: Node) -> None:
        start = self._clock.now()
        vlog(log, 3, "Add event for node", node=node)
        self._cache.add_node(node)
        self._move(event_types.NODE_ADD, None, node)
        self._observe(event_types.NODE_ADD, start)

    def _node_updated(self, old: Node, new: Node) -> None:
        start = self._clock.now()
        vlog(log, 4, "Update event for node", node=new)
        self._cache.update_node(new)
        self._move_for_update(self._changes.of_node(old, new), old, new, start)

    def _node_deleted(self, node: Node) -> None:
        start = self._clock.now()
        self._move(event_types.NODE_DELETE, node, None)
        vlog(log, 3, "Delete event for node", node=node)
        self._cache.remove_node(node.metadata.name)
        self._observe(event_types.NODE_DELETE, start)

    # Pod groups and composite pod groups.

    def _group_added(self, group: AnyPodGroup) -> None:
        start = self._clock.now()
        vlog(log, 3, "Add event for pod group", **_named(group))
        assert self._pod_groups is not None
        self._pod_groups.set_group(group)
        self._queue.add_group(group)
        event = _GROUP_EVENTS[group.entity_type, ActionType.ADD]
        self._move(event, None, group)
        self._observe(event, start)

    def _group_updated(self, old: AnyPodGroup, new: AnyPodGroup) -> None:
        if old.metadata.uid != new.metadata.uid or old.parent_key != new.parent_key:
            self._group_deleted(old)
            self._group_added(new)
            return
        start = self._clock.now()
        vlog(log, 4, "Update event for pod group", **_named(new))
        assert self._pod_groups is not None
        self._pod_groups.set_group(new)
        self._queue.update_group(new)
        event = _GROUP_EVENTS[new.entity_type, ActionType.UPDATE]
        if old.spec != new.spec:
            # A change of the status, which this scheduler makes itself, helps no pod.
            self._move(event, old, new)
        self._observe(event, start)

    def _group_deleted(self, group: AnyPodGroup) -> None:
        start = self._clock.now()
        vlog(log, 3, "Delete event for pod group", **_named(group))
        assert self._pod_groups is not None
        self._pod_groups.remove_group(group)
        self._queue.delete_group(group)
        event = _GROUP_EVENTS[group.entity_type, ActionType.DELETE]
        self._move(event, group, None)
        self._observe(event, start)

    # Pods.

    def _is_ours(self, pod: Pod) -> bool:
        return self._every_pod or pod.spec.scheduler_name in self._profiles

    def _pod_added(self, pod: Pod) -> None:
        if pod.spec.node_name:
            if self._waits_for_resize(pod):
                self._queue.add(pod)
            self._assigned_pod_added(pod)
        elif self._is_ours(pod):
            start = self._clock.now()
            vlog(log, 3, "Add event for unscheduled pod", pod=pod)
            if self._pod_groups is not None:
                self._pod_groups.set_pending(pod)
            self._queue.add(pod)
            self._observe(self._changes.pod_add, start)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if old.metadata.uid != new.metadata.uid:
            # The pod was deleted and created again between two watch events, so this is both.
            self._pod_deleted(old)
            self._pod_added(new)
        elif old.spec.node_name and old.spec.node_name != new.spec.node_name:
            # The node of a pod never changes: a watch lies, or has lost events. kube-scheduler ends
            # its process.
            if number := self._moves.count():
                node, before = new.spec.node_name, old.spec.node_name
                log_error(log, None, POD_MOVED, pod=new, node=node, before=before, count=number)
            self._pod_deleted(old)
            self._pod_added(new)
        elif old.spec.node_name:
            self._resize_updated(old, new)
            self._assigned_pod_updated(old, new)
        elif new.spec.node_name:
            if self._taps is not None:
                self._taps.assigning(old, new.spec.node_name)
            self._assigned_pod_added(new)
            if self._pod_groups is not None:
                self._pod_groups.remove_pending(old)
            if self._is_ours(old):
                self._drop(old)
        elif self._is_ours(old):
            self._pending_pod_updated(old, new)

    def _waits_for_resize(self, pod: Pod) -> bool:
        return self._resizes and self._is_ours(pod) and is_resize_deferred(pod)

    def _resize_updated(self, old: Pod, new: Pod) -> None:
        """Queue a pod on a node while its resize is deferred."""
        if self._waits_for_resize(new):
            if self._waits_for_resize(old):
                self._queue.update(old, new)
            else:
                vlog(log, 3, _RESIZE_BEGINS, pod=new)
                self._queue.add(new)
        elif self._waits_for_resize(old):
            vlog(log, 3, _RESIZE_ENDS, pod=new)
            self._queue.delete(old)

    def _pod_deleted(self, pod: Pod) -> None:
        if pod.spec.node_name:
            start = self._clock.now()
            vlog(log, 3, "Delete event for scheduled pod", pod=pod)
            self._cache.remove_pod(pod.metadata.uid)
            self._move(event_types.ASSIGNED_POD_DELETE, pod, None)
            self._observe(event_types.ASSIGNED_POD_DELETE, start)
            if self._is_ours(pod):
                # The last version that the queue saw may have had no node.
                self._queue.delete(pod)
        elif self._is_ours(pod):
            if self._pod_groups is not None:
                self._pod_groups.remove_pending(pod)
            self._drop(pod)
            if self._cache.is_assumed(pod.metadata.uid):
                self._assumed_pod_deleted(pod)
            elif pod.status.nominated_node_name:
                self._nomination_ended(pod)

    def _drop(self, pod: Pod) -> None:
        start = self._clock.now()
        vlog(log, 3, "Delete event for unscheduled pod", pod=pod)
        self._queue.delete(pod)
        self._observe(self._changes.pod_delete, start)

    def _assigned_pod_added(self, pod: Pod) -> None:
        start = self._clock.now()
        vlog(log, 3, "Add event for scheduled pod", pod=pod)
        self._cache.add_pod(pod)
        self._move(event_types.ASSIGNED_POD_ADD, None, pod)
        self._observe(event_types.ASSIGNED_POD_ADD, start)

    def _assigned_pod_updated(self, old: Pod, new: Pod) -> None:
        start = self._clock.now()
        vlog(log, 4, "Update event for scheduled pod", pod=old)
        self._cache.update_pod(new)
        self._move_for_update(self._changes.of_pod(old, new), old, new, start)
        self._observe(event_types.ASSIGNED_POD_UPDATE, start)

    def _pending_pod_updated(self, old: Pod, new: Pod) -> None:
        if old.metadata.resource_version == new.metadata.resource_version:
            return
        start = self._clock.now()
        if self._pod_groups is not None:
            self._pod_groups.set_pending(new)
        self._change_pending_pod(old, new)
        for event in {self._changes.pod_update, *self._changes.of_pod(old, new)}:
            self._observe(event, start)

    def _change_pending_pod(self, old: Pod, new: Pod) -> None:
        if self._cache.is_assumed(new.metadata.uid):
            if new.is_terminating and not old.is_terminating:
                self._assumed_pod_deleted(new)
            return
        vlog(log, 4, "Update event for unscheduled pod", pod=new)
        self._queue.update(old, new)
        was = old.status.nominated_node_name
        if was and was != new.status.nominated_node_name:
            self._nomination_ended(old)

    def _nomination_ended(self, pod: Pod) -> None:
        """Queue pods of the same or a lower priority: the nomination kept room from them."""
        priority = pod.priority
        self._move(
            event_types.ASSIGNED_POD_DELETE, pod, None, lambda other: other.priority <= priority
        )

    def _assumed_pod_deleted(self, pod: Pod) -> None:
        """End the binding of a pod that is being deleted."""
        uid = pod.metadata.uid
        assumed = self._cache.pod(uid)
        if assumed is None:
            return
        if not self._on_the_way.reject_removed(uid):
            try:
                self._cache.forget_pod(uid)
            except Exception as error:
                log_error(log, error, "Scheduler cache ForgetPod failed", pod=pod)
            if self._taps is not None:
                self._taps.forgot(uid)
        self._move(event_types.ASSIGNED_POD_DELETE, assumed.pod, None)


def _named(group: AnyPodGroup) -> dict[str, AnyPodGroup]:
    """Return a group under kube-scheduler's name for its kind in logs."""
    return {"compositePodGroup" if isinstance(group, CompositePodGroup) else "podGroup": group}


def posting_handler(inbox: Inbox, handler: EventHandler[Any]) -> EventHandler[Any]:
    """Return a handler that posts each change to the inbox, so that it waits for the loop."""
    post, added, updated, deleted = inbox.post, handler.on_add, handler.on_update, handler.on_delete
    return EventHandler(
        on_add=None if added is None else lambda obj: post(added, obj),
        on_update=None if updated is None else lambda old, new: post(updated, old, new),
        on_delete=None if deleted is None else lambda obj: post(deleted, obj),
    )


#: The events of a plugin that registers none: every kind that is watched anyway.
_EVERY_KIND = tuple(
    ClusterEvent(resource, ActionType.ALL)
    for resource in _KINDS
    if resource != EventResource.DEVICE_TAINT_RULE
)
