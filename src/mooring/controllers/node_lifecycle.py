"""Node lifecycle: taints that follow from a node's state, and kubelets that stopped reporting."""

# kubernetes: pkg/controller/nodelifecycle/node_lifecycle_controller.go

from __future__ import annotations

from typing import Any

from mooring.api import Lease, Node, parse_time
from mooring.client.client import STRATEGIC
from mooring.controllers.component_events import NORMAL
from mooring.controllers.controlled_kinds import NODES
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.informers.store import EventHandler

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_BY_CONDITION: dict[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_OURS = {(key, "NoSchedule") for key in (*_BY_CONDITION.values(), UNSCHEDULABLE)} | {
    (NOT_READY, "NoExecute"),
    (UNREACHABLE, "NoExecute"),
}

#: nodelifecycle/config: NodeMonitorGracePeriod
GRACE_SECONDS = 50.0
LEASE_NAMESPACE = "kube-node-lease"
_LOST = "NodeStatusUnknown"
_LOST_TEXT = "Kubelet stopped posting node status."
_REPORTED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")


class NodeLifecycleController(Controller):
    """The controller that taints nodes by their conditions.

    If a kubelet stops renewing its lease, the controller sets the node's conditions to Unknown.
    A node that never had a lease has no kubelet that could stop, so its conditions stay as they
    were created.
    """

    name = "node-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._nodes = self.watch(Node, itself)
        leases = context.informers.informer(Lease)
        leases.add_handler(EventHandler(on_add=self._leased))
        self._leases = leases.store

    def _leased(self, lease: Lease) -> None:
        if lease.metadata.namespace == LEASE_NAMESPACE:
            self.queue.add(("", lease.metadata.name))

    async def reconcile(self, key: Key) -> float | None:
        """Make a node's taints match its conditions, and notice a silent kubelet."""
        node: Node | None = self._nodes.get(key[1])
        if node is None:
            return None
        await self._sync_taints(node)
        silence = self._silence(node)
        if silence is None:
            return None
        if silence < GRACE_SECONDS:
            return GRACE_SECONDS - silence
        if any(one.type == "Ready" and one.status != "Unknown" for one in node.status.conditions):
            await self._lose(node)
        return GRACE_SECONDS

    def _silence(self, node: Node) -> float | None:
        """Return the seconds since a node's kubelet last reported; None without a lease."""
        lease: Lease | None = self._leases.get(node.metadata.name, LEASE_NAMESPACE)
        if lease is None or not lease.spec.renew_time:
            return None
        times = [lease.spec.renew_time]
        times += [
            one.last_heartbeat_time
            for one in node.status.conditions
            if one.type == "Ready" and one.last_heartbeat_time
        ]
        return self.context.clock.wall_time() - max(map(parse_time, times))

    async def _lose(self, node: Node) -> None:
        when = self.context.timestamp()
        conditions = [
            {
                "type": type,
                "status": "Unknown",
                "reason": _LOST,
                "message": _LOST_TEXT,
                "lastTransitionTime": when,
            }
            for type in _REPORTED
        ]
        patch = {"status": {"conditions": conditions}}
        await self.writer.patch(NODES, "", node.metadata.name, patch, "status", STRATEGIC)
        text = f"Node {node.metadata.name} status is now: NodeNotReady"
        self.events.record(node, NORMAL, "NodeNotReady", text)

    async def _sync_taints(self, node: Node) -> None:
        known = {(one.key, one.effect): one for one in node.spec.taints}
        wanted = wanted_taints(node)
        if wanted == known.keys() & _OURS:
            return
        taints: list[Object] = [
            _written(one) for place, one in known.items() if place in wanted or place not in _OURS
        ]
        for key, effect in sorted(wanted - known.keys()):
            made: Object = {"key": key, "effect": effect}
            if effect == "NoExecute" or key == UNSCHEDULABLE:
                made["timeAdded"] = self.context.timestamp()
            taints.append(made)
        # A merge patch replaces the whole list, so it may apply only to the version that was read.
        metadata = {"resourceVersion": node.metadata.resource_version}
        patch: dict[str, Any] = {"metadata": metadata, "spec": {"taints": taints or None}}
        await self.writer.patch(NODES, "", node.metadata.name, patch)


def wanted_taints(node: Node) -> set[tuple[str, str]]:
    """Return the key and effect of every taint that follows from a node's state."""
    found = set()
    for condition in node.status.conditions:
        key = _BY_CONDITION.get((condition.type, condition.status))
        if key is None:
            continue
        found.add((key, "NoSchedule"))
        if key in (NOT_READY, UNREACHABLE):
            found.add((key, "NoExecute"))
    if node.spec.unschedulable:
        found.add((UNSCHEDULABLE, "NoSchedule"))
    return found


def _written(taint: Any) -> Object:
    made = {"key": taint.key, "value": taint.value, "effect": taint.effect}
    made["timeAdded"] = taint.time_added
    return {name: text for name, text in made.items() if text}
