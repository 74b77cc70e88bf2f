"""Texts for the cluster events that queue a pod again, in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Iterable

from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource

#: The text for a registration that covers everything.
ANY_EVENT = "any event"

_NAMES: dict[str, str] = {
    EventResource.NODE: "Node",
    EventResource.ASSIGNED_POD: "assigned Pod",
    EventResource.UNSCHEDULED_POD: "unscheduled Pod",
    EventResource.TARGET_POD: "this Pod",
}
_UPDATES = {
    ActionType.UPDATE_NODE_ALLOCATABLE: "allocatable",
    ActionType.UPDATE_NODE_LABEL: "labels",
    ActionType.UPDATE_NODE_TAINT: "taints",
    ActionType.UPDATE_NODE_CONDITION: "conditions",
    ActionType.UPDATE_NODE_ANNOTATION: "annotations",
    ActionType.UPDATE_NODE_DECLARED_FEATURE: "declared features",
    ActionType.UPDATE_NODE_PREEMPTION_POLICY: "preemption policy",
    ActionType.UPDATE_POD_LABEL: "labels",
    ActionType.UPDATE_POD_SCALE_DOWN: "scale down",
    ActionType.UPDATE_POD_SCALE_UP: "scale up",
    ActionType.UPDATE_POD_TOLERATION: "tolerations",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "scheduling gates eliminated",
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "generated resource claim",
}


def retry_texts(events: Iterable[ClusterEvent]) -> list[str]:
    """Return one text for each kind of object and action, nodes and pods first.

    >>> add, label = ActionType.ADD, ActionType.UPDATE_NODE_LABEL
    >>> retry_texts([
    ...     ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE),
    ...     ClusterEvent(EventResource.NODE, add | ActionType.UPDATE_NODE_ALLOCATABLE),
    ...     ClusterEvent(EventResource.NODE, add | label),
    ... ])
    ['Node Add', 'Node Update (allocatable, labels)', 'assigned Pod Delete']
    """
    actions: dict[str, ActionType] = dict.fromkeys(_NAMES, ActionType.NONE)
    for event in events:
        if event.resource == EventResource.WILDCARD:
            return [ANY_EVENT]
        actions[event.resource] = actions.get(event.resource, ActionType.NONE) | event.actions
    return [text for resource, found in actions.items() for text in _texts(resource, found)]


def _texts(resource: str, actions: ActionType) -> Iterable[str]:
    # Kubernetes' own kinds are written with their group, custom ones as "plural.version.group".
    name = _NAMES.get(resource, resource.rpartition("/")[2])
    if actions & ActionType.ADD:
        yield f"{name} Add"
    if updates := actions & ActionType.UPDATE:
        parts = [text for update, text in _UPDATES.items() if update & updates]
        yield (
            f"{name} Update"
            if updates == ActionType.UPDATE
            else (f"{name} Update ({', '.join(parts)})")
        )
    if actions & ActionType.DELETE:
        yield f"{name} Delete"
