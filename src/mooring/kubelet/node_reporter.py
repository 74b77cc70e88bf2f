"""NodeReporter: a fake node's first report, its heartbeats and its lease."""

# kubernetes: pkg/kubelet/kubelet_node_status.go, staging component-helpers/apimachinery/lease

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address
from typing import Any

from mooring.api import Node, parse_time
from mooring.api.timestamps import format_micro_time
from mooring.client.client import STRATEGIC
from mooring.controllers.controlled_kinds import LEASES, NODES
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.work_queue import Key
from mooring.errors import ApiError
from mooring.kubelet import node_status

Object = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
#: kubelet: nodeLeaseDurationSeconds, and a quarter of it between renewals.
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
#: kubelet: nodeStatusReportFrequency, the interval of reports if nothing has changed.
REPORT_SECONDS = 300.0
_FIRST_ADDRESS = IPv4Address("172.18.0.2")


class NodeReporter(Controller):
    """The controller that reports node statuses and renews leases, as kubelets do."""

    name = "kubelet"
    workers = 8

    def __init__(
        self,
        context: ControllerContext,
        capacity: dict[str, str],
        declared_features: Sequence[str] = (),
    ) -> None:
        super().__init__(context)
        self._capacity = capacity
        self._declared_features = declared_features
        self._renewed: dict[str, float] = {}
        self._addresses: dict[str, str] = {}
        #: Includes the addresses of nodes that are not fake.
        self._taken: set[str] = set()
        self._nodes = self.watch(Node, self._fake)

    def _fake(self, node: Node) -> Iterable[Key]:
        self._taken.add(node_status.internal_ip(node))
        if node_status.is_fake(node):
            yield "", node.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Report the node's status if needed, and renew its lease when due."""
        name = key[1]
        node: Node | None = self._nodes.get(name)
        if node is None or not node_status.is_fake(node):
            self._renewed.pop(name, None)
            self._addresses.pop(name, None)
            return None
        await self._report(node)
        now = self.context.clock.now()
        due = self._renewed.get(name, 0.0) + RENEW_SECONDS
        if due > now:
            return due - now
        await self._renew(node)
        self._renewed[name] = now
        return now + RENEW_SECONDS - self.context.clock.now()

    async def _report(self, node: Node) -> None:
        now = self.context.clock.wall_time()
        ready = [one for one in node.status.conditions if one.type == "Ready"]
        fresh = ready and ready[0].reason != node_status.SILENT
        complete = fresh and node.status.capacity and node_status.internal_ip(node)
        if complete:
            beat = ready[0].last_heartbeat_time
            if beat is None or now - parse_time(beat) < REPORT_SECONDS:
                return
        status = self.first_report(node)
        await self.writer.patch(
            NODES, "", node.metadata.name, {"status": status}, "status", STRATEGIC
        )

    def first_report(self, node: Node) -> Object:
        """Return the fields that the status of a starting node lacks."""
        when = self.context.timestamp()
        address = self._address(node)
        return node_status.first_report(
            node, address, self._capacity, when, self._declared_features
        )

    def take(self, addresses: Iterable[str]) -> None:
        """Give none of these addresses to a new node."""
        self._taken.update(addresses)

    def _address(self, node: Node) -> str:
        return node_status.internal_ip(node) or self.address_of(node.metadata.name)

    def address_of(self, name: str) -> str:
        """Return the address of a fake node by its name; a new node gets a free one."""
        known = self._addresses.get(name)
        if known:
            return known
        place = len(self._addresses)
        while (address := str(_FIRST_ADDRESS + place)) in self._taken:
            place += 1
        self._taken.add(address)
        self._addresses[name] = address
        return address

    async def _renew(self, node: Node) -> None:
        name = node.metadata.name
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format_micro_time(self.context.clock.wall_time()),
        }
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node.metadata.uid}
        metadata = {"ownerReferences": [owner]}
        named = {"name": name, "namespace": LEASE_NAMESPACE, **metadata}
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": named,
            "spec": spec,
        }
        # The lease may belong to an earlier node of this name. Change its owner, or the garbage
        # collector deletes it.
        patch = {"metadata": metadata, "spec": spec}
        if name in self._renewed:
            try:
                await self.writer.patch(LEASES, LEASE_NAMESPACE, name, patch)
            except ApiError as error:
                if not error.is_not_found:
                    raise
                await self.writer.create(LEASES, lease)
            return
        try:
            await self.writer.create(LEASES, lease)
        except ApiError as error:
            if not error.is_already_exists:
                raise
            await self.writer.patch(LEASES, LEASE_NAMESPACE, name, patch)
