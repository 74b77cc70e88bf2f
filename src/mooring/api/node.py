"""Nodes."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.meta import Condition, TypedObject
from mooring.api.quantity import ResourceList
from mooring.api.wire import Wire


class Taint(Wire, frozen=True, kw_only=True):
    """A taint of a node: it repels pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    def to_string(self) -> str:
        """Return `key=value:effect`, leaving out empty parts."""
        text = f"{self.key}={self.value}" if self.value else self.key
        return f"{text}:{self.effect}" if self.value or self.effect else text


class NodePodPreemptionPolicy(Wire, frozen=True, kw_only=True):
    """What a node allows of preemption for the pods that run on it."""

    #: Who has disabled preemption for the resizing of pods; nobody has if it is empty.
    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Wire, frozen=True, kw_only=True):
    """The specification of a node."""

    pod_cidr: str = ""
    pod_cidrs: tuple[str, ...] = ()
    provider_id: str = ""
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    external_id: str = ""
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class ContainerImage(Wire, frozen=True, kw_only=True):
    """An image that is present on a node."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeAddress(Wire, frozen=True, kw_only=True):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeFeatures(Wire, frozen=True, kw_only=True):
    """What the container runtime of a node supports."""

    supplemental_groups_policy: bool | None = None


class NodeRuntimeHandlerFeatures(Wire, frozen=True, kw_only=True):
    """What a runtime handler supports."""

    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(Wire, frozen=True, kw_only=True):
    """A runtime handler of a node."""

    name: str = ""
    features: NodeRuntimeHandlerFeatures | None = None


class NodeSystemInfo(Wire, frozen=True, kw_only=True):
    """A node's operating system and versions."""

    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""
    kube_proxy_version: str = ""
    operating_system: str = ""
    architecture: str = ""
    swap: dict[str, Any] | None = None


class AttachedVolume(Wire, frozen=True, kw_only=True):
    """A volume that is attached to a node."""

    name: str = ""
    device_path: str = ""


class NodeStatus(Wire, frozen=True, kw_only=True):
    """The state of a node."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    daemon_endpoints: dict[str, Any] = {}
    node_info: NodeSystemInfo = NodeSystemInfo()
    images: tuple[ContainerImage, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    runtime_handlers: tuple[NodeRuntimeHandler, ...] = ()
    features: NodeFeatures | None = None
    declared_features: tuple[str, ...] = ()


class Node(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Node."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Node"

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
