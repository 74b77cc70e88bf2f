"""The pods of a cluster that have no node, as pages of a list."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod
from mooring.informers.store import Store

_INDEX = "ui: pending"

GATED = "gated"
WAITING = "waiting"
UNSCHEDULABLE = "unschedulable"
NOMINATED = "nominated"


class PendingPodList:
    """The pending pods of a store, whatever their scheduler; the most important first."""

    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods
        pods.add_index(_INDEX, _keys)

    def __len__(self) -> int:
        return self._pods.count_by_index(_INDEX, True)

    def page(self, text: str, offset: int, limit: int) -> dict[str, Any]:
        """Return some of the pods whose "namespace/name" contains a text, and how many there are.

        They are in the order in which a queue sorts: by priority, then by age.
        """
        found = [pod for pod in self._pods.by_index(_INDEX, True) if text in pod.key]
        found.sort(key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or "", pod.key))
        return {
            "total": len(found),
            "offset": offset,
            "pods": [_data(pod) for pod in found[offset : offset + limit]],
        }


def _keys(pod: Pod) -> tuple[bool, ...]:
    return () if pod.spec.node_name or pod.is_finished else (True,)


def _data(pod: Pod) -> dict[str, Any]:
    state, message = _state(pod)
    return {
        "namespace": pod.metadata.namespace,
        "name": pod.metadata.name,
        "scheduler": pod.spec.scheduler_name,
        "priority": pod.priority,
        "created": pod.metadata.creation_timestamp or "",
        "state": state,
        "message": message,
    }


def _state(pod: Pod) -> tuple[str, str]:
    """Return what is known of a pod's place in the queue of its scheduler."""
    if pod.spec.scheduling_gates:
        return GATED, ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    said = (one for one in pod.status.conditions if one.type == "PodScheduled")
    message = next((one.message for one in said), "")
    if pod.status.nominated_node_name:
        return NOMINATED, pod.status.nominated_node_name
    return (UNSCHEDULABLE, message) if message else (WAITING, "")
