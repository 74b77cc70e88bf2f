"""NodeInfo: one node with its pods and their sums; the node form of a plugin reads it.

# kube-scheduler: framework/types.go (NodeInfo, HostPortInfo)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mooring.api import Node, Taint
from mooring.api.ports import ANY_ADDRESS
from mooring.api.quantity import milli_value, value
from mooring.api.spelling import spelled
from mooring.framework.pod_info import HostPort, PodInfo


def node_allocatable(node: Node) -> dict[str, int]:
    """Return a node's allocatable resources: cpu in thousandths, the rest in whole units."""
    return {
        name: milli_value(quantity) if name == "cpu" else value(quantity)
        for name, quantity in node.status.allocatable.items()
    }


def image_name(name: str) -> str:
    """Return an image name, with the tag ":latest" added if it has none.

    >>> image_name("registry:5000/app")
    'registry:5000/app:latest'
    """
    return f"{name}:latest" if name.rfind(":") <= name.rfind("/") else name


@spelled(Node="node", GetName="name", ImageStates="images()")
class NodeInfo:
    """One node, its pods and their sums. Owned by the cache; a dry run works on `clone()`.

    Cpu is counted in thousandths, every other resource in whole units (`framework.Resource` in Go).
    """

    __slots__ = (
        "_used_numbers",
        "allocatable",
        "node",
        "non_zero_requested",
        "pods",
        "pvc_refs",
        "requested",
        "row",
        "used_ports",
    )

    def __init__(self, node: Node, pods: Iterable[PodInfo] = ()) -> None:
        self.node = node
        #: Row of this node in the snapshot; -1 outside one.
        self.row = -1
        self.allocatable: dict[str, int] = node_allocatable(node)
        self.requested: dict[str, int] = {}
        #: Like `requested` for cpu and memory, with defaults for containers that request none.
        self.non_zero_requested: dict[str, int] = {"cpu": 0, "memory": 0}
        #: Pods by uid, in the order in which they were added.
        self.pods: dict[str, PodInfo] = {}
        self.used_ports: set[HostPort] = set()
        #: (protocol, port) of the used ports; None until needed after a change.
        self._used_numbers: set[tuple[str, int]] | None = None
        #: Number of pods that use a claim, by "namespace/name".
        self.pvc_refs: dict[str, int] = {}
        for pod in pods:
            self.add_pod(pod)

    @property
    def name(self) -> str:
        """Return the node's name."""
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the node's labels."""
        return self.node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """Return the node's annotations."""
        return self.node.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Return the node's taints."""
        return tuple(self.node.spec.taints)

    @property
    def unschedulable(self) -> bool:
        """Return whether the node is cordoned."""
        return self.node.spec.unschedulable

    def images(self) -> Iterator[tuple[str, int]]:
        """Yield the name, as the node reports it, and the size of every image on the node."""
        for image in self.node.status.images:
            for name in image.names:
                yield name, image.size_bytes

    def set_node(self, node: Node) -> None:
        """Replace the node object; pods stay."""
        self.node = node
        self.allocatable = node_allocatable(node)

    def add_pod(self, pod: PodInfo) -> None:
        """Add a pod and count it."""
        self.pods[pod.uid] = pod
        requested = self.requested
        for name, amount in pod.requests.items():
            if amount:
                requested[name] = requested.get(name, 0) + amount
        self.non_zero_requested["cpu"] += pod.non_zero_cpu
        self.non_zero_requested["memory"] += pod.non_zero_memory
        if pod.host_ports:
            self.used_ports.update(pod.host_ports)
            self._used_numbers = None
        for claim in pod.claim_keys:
            self.pvc_refs[claim] = self.pvc_refs.get(claim, 0) + 1

    def remove_pod(self, uid: str) -> PodInfo:
        """Remove a pod and return it; raise KeyError if it is not on the node."""
        pod = self.pods.pop(uid)
        requested = self.requested
        for name, amount in pod.requests.items():
            if amount:
                left = requested[name] - amount
                if left:
                    requested[name] = left
                else:
                    # Pods can invent resource names: drop each with the last pod that requests it.
                    del requested[name]
        self.non_zero_requested["cpu"] -= pod.non_zero_cpu
        self.non_zero_requested["memory"] -= pod.non_zero_memory
        if pod.host_ports:
            self.used_ports.difference_update(pod.host_ports)
            self._used_numbers = None
        for claim in pod.claim_keys:
            left = self.pvc_refs[claim] - 1
            if left:
                self.pvc_refs[claim] = left
            else:
                del self.pvc_refs[claim]
        return pod

    def recount_ports(self) -> None:
        """Count the ports of all pods again.

        `remove_pod` frees a port even if a second pod holds it too, as kube-scheduler does in a
        dry run. The cache calls this so that its answers do not depend on history.
        """
        self.used_ports = {port for pod in self.pods.values() for port in pod.host_ports}
        self._used_numbers = None

    def clone(self) -> NodeInfo:
        """Return a copy on which pods can be added and removed on trial."""
        other = NodeInfo.__new__(NodeInfo)
        other.node = self.node
        other.row = self.row
        other.allocatable = self.allocatable
        other.requested = self.requested.copy()
        other.non_zero_requested = self.non_zero_requested.copy()
        other.pods = self.pods.copy()
        other.used_ports = self.used_ports.copy()
        other._used_numbers = self._used_numbers
        other.pvc_refs = self.pvc_refs.copy()
        return other

    def port_conflicts(self, port: HostPort) -> bool:
        """Return whether a host port is taken; the any-address conflicts with every address."""
        if not self.used_ports:
            return False
        address, protocol, number = port
        if address == ANY_ADDRESS:
            if self._used_numbers is None:
                self._used_numbers = {used[1:] for used in self.used_ports}
            return (protocol, number) in self._used_numbers
        return port in self.used_ports or (ANY_ADDRESS, protocol, number) in self.used_ports

    def __repr__(self) -> str:
        return f"NodeInfo({self.name!r}, pods={len(self.pods)})"
