"""Pods."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.containers import (
    Container,
    ContainerStatus,
    EphemeralContainer,
    ResourceRequirements,
)
from mooring.api.meta import Condition, LocalObjectReference, TypedObject
from mooring.api.quantity import QuantityText, ResourceList
from mooring.api.scheduling import (
    Affinity,
    PodResourceClaim,
    PodSchedulingGate,
    PodSchedulingGroup,
    Toleration,
    TopologySpreadConstraint,
)
from mooring.api.volumes import Volume
from mooring.api.wire import Wire

POD_SUCCEEDED = "Succeeded"
POD_FAILED = "Failed"


class PodOS(Wire, frozen=True, kw_only=True):
    """The operating system that a pod needs (linux or windows)."""

    name: str = ""


class PodSpec(Wire, frozen=True, kw_only=True):
    """What a pod runs and where it may run."""

    volumes: tuple[Volume, ...] = ()
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()
    ephemeral_containers: tuple[EphemeralContainer, ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    dns_policy: str = ""
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    service_account: str = ""
    automount_service_account_token: bool | None = None
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = False
    host_ipc: bool = False
    share_process_namespace: bool | None = None
    security_context: dict[str, Any] | None = None
    image_pull_secrets: tuple[LocalObjectReference, ...] = ()
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    host_aliases: tuple[dict[str, Any], ...] = ()
    priority_class_name: str = ""
    priority: int | None = None
    dns_config: dict[str, Any] | None = None
    readiness_gates: tuple[dict[str, Any], ...] = ()
    runtime_class_name: str | None = None
    enable_service_links: bool | None = None
    preemption_policy: str | None = None
    overhead: ResourceList = {}
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    set_hostname_as_fqdn: bool | None = None
    os: PodOS | None = None
    host_users: bool | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    hostname_override: str | None = None
    scheduling_group: PodSchedulingGroup | None = None


class PodResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The ResourceClaim that was created for an entry of spec.resourceClaims."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Wire, frozen=True, kw_only=True):
    """The mapping of a container's extended resource to a request of the special claim."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The claim that provides a pod's extended resources."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableMappedResources(Wire, frozen=True, kw_only=True):
    """The amount of a node resource that the devices of a claim represent."""

    name: str = ""
    quantity: QuantityText | None = None


class NodeAllocatableOverheadResources(Wire, frozen=True, kw_only=True):
    """The amount of a node resource that a pod needs in order to use the devices of a claim."""

    name: str = ""
    per_pod: QuantityText | None = None
    per_container: QuantityText | None = None


class NodeAllocatableResourceClaimStatus(Wire, frozen=True, kw_only=True):
    """The node resources that a claim consumes."""

    resource_claim_name: str = ""
    #: The containers of the pod that use the claim.
    containers: tuple[str, ...] = ()
    mapping: tuple[NodeAllocatableMappedResources, ...] = ()
    overhead: tuple[NodeAllocatableOverheadResources, ...] = ()
    #: The form of 1.36, instead of `mapping` and `overhead`.
    resources: ResourceList = {}


class PodIP(Wire, frozen=True, kw_only=True):
    """One address of a pod or of its host."""

    ip: str = ""


class PodStatus(Wire, frozen=True, kw_only=True):
    """The state of a pod."""

    observed_generation: int = 0
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = ""
    host_ips: tuple[PodIP, ...] = ()
    pod_ip: str = ""
    pod_ips: tuple[PodIP, ...] = ()
    start_time: str | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    ephemeral_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Pod."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def node_name(self) -> str:
        """Return spec.nodeName, empty while the pod is pending."""
        return self.spec.node_name

    @property
    def priority(self) -> int:
        """Return spec.priority, 0 if it is absent."""
        return self.spec.priority or 0

    @property
    def is_terminating(self) -> bool:
        """Return whether the pod is being deleted."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """Return whether the pod has succeeded or failed; the scheduler ignores such pods."""
        return self.status.phase in (POD_SUCCEEDED, POD_FAILED)


class FinishedPod(Pod, frozen=True, kw_only=True):
    """A pod that has succeeded or failed: the kind for `Handle.lister` and `Handle.watch`.

    A scheduler does not watch such pods as Pod, so a plugin that must know of them asks for them.
    """


class PodTemplateSpec(Wire, frozen=True, kw_only=True):
    """The template of the pods that a workload creates; `metadata` and `spec` as in a Pod."""

    metadata: dict[str, Any] = {}
    spec: PodSpec = PodSpec()
