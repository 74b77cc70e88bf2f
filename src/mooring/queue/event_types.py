"""The cluster events that the queue handles, and which events an update of an object causes.

# kube-scheduler: framework/events.go
"""

from __future__ import annotations

from collections.abc import Iterator

from mooring.api import Node, Pod
from mooring.api.pod_resource_requests import RequestOptions, is_resize_infeasible, pod_requests
from mooring.api.quantity import ResourceList, parse_nanos
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.features import FeatureGates

#: Labels of events inside the queue, in addition to those of cluster events.
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"
FORCE_ACTIVATE = "ForceActivate"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"

ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
#: A pod has been unschedulable for so long that it is tried again although nothing changed.
UNSCHEDULABLE_TIMED_OUT = ClusterEvent(
    EventResource.WILDCARD, ActionType.ALL, custom_label=UNSCHEDULABLE_TIMEOUT
)
#: A plugin requests that a pod be tried; the event concerns only that pod.
FORCE_ACTIVATED = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, custom_label=FORCE_ACTIVATE)


class Changes:
    """The events of waiting pods, and the rules for which events an update causes.

    They depend on the feature gates and on the release that is emulated.
    """

    def __init__(self, features: FeatureGates) -> None:
        enabled, release = features.enabled, features.release
        self._labels: dict[EventResource, str] = {
            EventResource.UNSCHEDULED_POD: release.unscheduled_pod_label,
            EventResource.TARGET_POD: release.target_pod_label,
        }
        self.pod_add = self._pod_event(EventResource.UNSCHEDULED_POD, ActionType.ADD)
        self.pod_update = self._pod_event(EventResource.UNSCHEDULED_POD, ActionType.UPDATE)
        self.pod_delete = self._pod_event(EventResource.UNSCHEDULED_POD, ActionType.DELETE)
        self._newer_actions = release.newer_actions
        # kube-scheduler counts pod-level requests here even if their feature gate is off.
        self._requests = RequestOptions(
            use_status_resources=enabled("InPlacePodVerticalScaling"),
            in_place_pod_level_resources=enabled("InPlacePodLevelResourcesVerticalScaling"),
            by_container=release.resizes_by_container,
        )
        self._claims = enabled("DynamicResourceAllocation")
        self._declared_features = enabled("NodeDeclaredFeatures")

    def of_pod(self, old: Pod, new: Pod, *, is_target: bool = False) -> list[ClusterEvent]:
        """Return the events of a pod's update; a general one if no specific change is found.

        `is_target` is for the queue, which asks about the effect on the pod itself.
        """
        if is_target:
            # One with a node waits for its resize.
            resource = EventResource.TARGET_POD
        elif new.spec.node_name:
            resource = EventResource.ASSIGNED_POD
        else:
            resource = EventResource.UNSCHEDULED_POD
        actions = list(self._pod_actions(old, new)) or [ActionType.UPDATE]
        return [self._pod_event(resource, action) for action in actions]

    def _pod_event(self, resource: EventResource, action: ActionType) -> ClusterEvent:
        name = self._labels.get(resource, resource.value)
        label = "" if name == resource.value else f"{name}{action.label}"
        return ClusterEvent(resource, action, custom_label=label)

    def of_node(self, old: Node, new: Node) -> list[ClusterEvent]:
        """Return the events of a node's update; none if nothing a scheduler reads changed."""
        return [ClusterEvent(EventResource.NODE, action) for action in self._node_actions(old, new)]

    def _pod_actions(self, old: Pod, new: Pod) -> Iterator[ActionType]:
        if new.metadata.labels != old.metadata.labels:
            yield ActionType.UPDATE_POD_LABEL
        if _what_requests_depend_on(old) != _what_requests_depend_on(new):
            # Most updates change only other status fields: skip computing the sums.
            yield from self._scaling(old, new)
        if old.spec.scheduling_gates and not new.spec.scheduling_gates:
            yield ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        # Tolerations can only be added, so comparing their number is enough.
        if len(new.spec.tolerations) != len(old.spec.tolerations):
            yield ActionType.UPDATE_POD_TOLERATION
        if self._claims and (
            new.status.resource_claim_statuses != old.status.resource_claim_statuses
            or new.status.extended_resource_claim_status
            != old.status.extended_resource_claim_status
        ):
            yield ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM

    def _scaling(self, old: Pod, new: Pod) -> Iterator[ActionType]:
        now = pod_requests(new, self._requests)
        before = pod_requests(old, self._requests)
        if any(name not in now or amount > now[name] for name, amount in before.items()):
            yield ActionType.UPDATE_POD_SCALE_DOWN
        if self._newer_actions and any(
            name not in before or amount > before[name] for name, amount in now.items()
        ):
            yield ActionType.UPDATE_POD_SCALE_UP

    def _node_actions(self, old: Node, new: Node) -> Iterator[ActionType]:
        if old.spec.unschedulable and not new.spec.unschedulable:
            yield ActionType.UPDATE_NODE_TAINT
        if not _same_amounts(old.status.allocatable, new.status.allocatable):
            yield ActionType.UPDATE_NODE_ALLOCATABLE
        if new.metadata.labels != old.metadata.labels:
            yield ActionType.UPDATE_NODE_LABEL
        if new.spec.taints != old.spec.taints:
            yield ActionType.UPDATE_NODE_TAINT
        if _condition_statuses(new) != _condition_statuses(old):
            yield ActionType.UPDATE_NODE_CONDITION
        if new.metadata.annotations != old.metadata.annotations:
            yield ActionType.UPDATE_NODE_ANNOTATION
        if self._newer_actions and new.spec.pod_preemption_policy != old.spec.pod_preemption_policy:
            yield ActionType.UPDATE_NODE_PREEMPTION_POLICY
        if self._declared_features and new.status.declared_features != old.status.declared_features:
            yield ActionType.UPDATE_NODE_DECLARED_FEATURE


def _what_requests_depend_on(pod: Pod) -> tuple[object, ...]:
    spec, status = pod.spec, pod.status
    return (
        spec.containers,
        spec.init_containers,
        spec.resources,
        spec.overhead,
        status.resources,
        status.allocated_resources,
        is_resize_infeasible(pod),
        [
            (one.name, one.resources, one.allocated_resources)
            for one in (*status.container_statuses, *status.init_container_statuses)
        ],
    )


def _same_amounts(a: ResourceList, b: ResourceList) -> bool:
    return a == b or {name: parse_nanos(amount) for name, amount in a.items()} == {
        name: parse_nanos(amount) for name, amount in b.items()
    }


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
