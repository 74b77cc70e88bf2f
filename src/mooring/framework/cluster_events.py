"""Cluster events: changes that may make an unschedulable pod schedulable, and their registration.

# kube-scheduler: staging kube-scheduler/framework/types.go, pkg/scheduler/framework/events.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, IntFlag, StrEnum
from functools import lru_cache
from typing import Any

import msgspec

from mooring.api import Pod


class ActionType(IntFlag):
    """What happened to an object; values combine with `|`."""

    NONE = 0
    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_NODE_PREEMPTION_POLICY = 256
    UPDATE_POD_LABEL = 512
    UPDATE_POD_SCALE_DOWN = 1024
    UPDATE_POD_SCALE_UP = 2048
    UPDATE_POD_TOLERATION = 4096
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 8192
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 16384
    UPDATE = 32768 - 4
    ALL = 32768 - 1

    @property
    def label(self) -> str:
        """Return kube-scheduler's spelling, for metrics; empty for a combination without a name."""
        return _ACTION_LABELS.get(self, "")


_ACTION_LABELS = {
    action: "".join(word.capitalize() for word in (action.name or "").split("_"))
    for action in (*ActionType, ActionType.UPDATE, ActionType.ALL)
}


class EventResource(StrEnum):
    """The kind of object an event is about; custom resources use "plural.version.group"."""

    #: Any pod: includes the three kinds below, of which plugins register what they need.
    POD = "Pod"
    #: A pod that has a node.
    ASSIGNED_POD = "AssignedPod"
    #: Another pod that waits to be scheduled.
    UNSCHEDULED_POD = "UnscheduledPod"
    #: The waiting pod itself: only its own changes are such events.
    TARGET_POD = "TargetPod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    DEVICE_TAINT_RULE = "resource.k8s.io/DeviceTaintRule"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    COMPOSITE_POD_GROUP = "scheduling.k8s.io/CompositePodGroup"
    WILDCARD = "*"


class QueueingHint(Enum):
    """Whether an event is worth another scheduling attempt for a pod."""

    SKIP = "QueueSkip"
    QUEUE = "Queue"


#: hint(pod, old, new): old is None for an addition, new is None for a deletion.
QueueingHintFn = Callable[[Pod, Any, Any], QueueingHint]
#: pre_hint(old, new): the pods that an event may concern; None if it may concern any pod.
PreQueueingHintFn = Callable[[Any, Any], Iterable[Pod] | None]


class ClusterEvent(msgspec.Struct, frozen=True):
    """A plugin's interest in an event: a resource, its actions, and an optional hint.

    The hint may decide to skip the event. Without a hint every such event requeues the pods that
    the plugin refused. With the gate SchedulerPreQueueingHints, `pre_hint` names the pods that the
    hint is asked about, so that the others cost nothing.
    """

    resource: EventResource | str
    actions: ActionType
    hint: QueueingHintFn | None = None
    #: Name for metrics if resource and action do not identify the event ("ForceActivate").
    custom_label: str = ""
    pre_hint: PreQueueingHintFn | None = None

    @property
    def label(self) -> str:
        """Return the event's name in metrics ("NodeUpdateNodeAllocatable")."""
        return self.custom_label or _label(self.resource, self.actions)

    @property
    def is_wildcard(self) -> bool:
        """Return whether this registration covers every event."""
        return self.resource == EventResource.WILDCARD and self.actions == ActionType.ALL

    def matches(self, happened: ClusterEvent) -> bool:
        """Return whether this registration covers an event that happened.

        A general UPDATE is a change that no specific action describes, so it matches only
        registrations for UPDATE, not those for one of its specific actions.
        """
        # kube-scheduler: framework/types.go (MatchClusterEvents)
        if self.is_wildcard:
            return True
        return (
            (
                self.resource in (EventResource.WILDCARD, happened.resource)
                or (self.resource == EventResource.POD and happened.resource in _SORTS_OF_POD)
            )
            and self.actions & happened.actions != 0
            and happened.actions <= self.actions
        )


@lru_cache(maxsize=1024)
def _label(resource: EventResource | str, actions: ActionType) -> str:
    name = resource.value if isinstance(resource, EventResource) else resource
    return f"{name}{actions.label}"


_SORTS_OF_POD = frozenset(
    (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD)
)


#: Every event: the registration of a plugin without `events_to_register`.
ALL_EVENTS = ClusterEvent(EventResource.WILDCARD, ActionType.ALL)
