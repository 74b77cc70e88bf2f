"""Objects around pods: namespaces, services, controllers, budgets, priorities."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.meta import Condition, LabelSelector, TypedObject
from mooring.api.pod import PodTemplateSpec
from mooring.api.wire import Wire


class Namespace(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Namespace."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Namespace"

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


class ServiceSpec(Wire, frozen=True, kw_only=True):
    """The specification of a service."""

    selector: dict[str, str] = {}
    ports: tuple[dict[str, Any], ...] = ()
    type: str = ""
    cluster_ip: str = ""
    cluster_ips: tuple[str, ...] = ()
    external_ips: tuple[str, ...] = ()
    external_name: str = ""
    session_affinity: str = ""
    session_affinity_config: dict[str, Any] | None = None
    load_balancer_ip: str = ""
    load_balancer_source_ranges: tuple[str, ...] = ()
    load_balancer_class: str | None = None
    allocate_load_balancer_node_ports: bool | None = None
    external_traffic_policy: str = ""
    internal_traffic_policy: str | None = None
    health_check_node_port: int = 0
    ip_families: tuple[str, ...] = ()
    ip_family_policy: str | None = None
    publish_not_ready_addresses: bool = False
    traffic_distribution: str | None = None


class Service(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Service."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Service"

    spec: ServiceSpec = ServiceSpec()
    status: dict[str, Any] = {}


class ReplicationControllerSpec(Wire, frozen=True, kw_only=True):
    """The specification of a replication controller; its selector is a map."""

    replicas: int | None = None
    min_ready_seconds: int = 0
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes ReplicationController."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationController"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: dict[str, Any] = {}


class WorkloadSpec(Wire, frozen=True, kw_only=True):
    """The specification of a controller that creates pods from a template."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    min_ready_seconds: int = 0
    revision_history_limit: int | None = None


class ReplicaSetSpec(WorkloadSpec, frozen=True, kw_only=True):
    """The specification of a replica set."""


class ReplicaSet(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes ReplicaSet."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"

    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: dict[str, Any] = {}


class StatefulSetSpec(WorkloadSpec, frozen=True, kw_only=True):
    """The specification of a stateful set."""

    service_name: str = ""
    pod_management_policy: str = ""
    volume_claim_templates: tuple[dict[str, Any], ...] = ()
    update_strategy: dict[str, Any] = {}
    persistent_volume_claim_retention_policy: dict[str, Any] | None = None
    ordinals: dict[str, Any] | None = None


class StatefulSet(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes StatefulSet."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSet"

    spec: StatefulSetSpec = StatefulSetSpec()
    status: dict[str, Any] = {}


class DeploymentSpec(WorkloadSpec, frozen=True, kw_only=True):
    """The specification of a deployment."""

    strategy: dict[str, Any] = {}
    paused: bool = False
    progress_deadline_seconds: int | None = None


class Deployment(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Deployment."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "Deployment"

    spec: DeploymentSpec = DeploymentSpec()
    status: dict[str, Any] = {}


class DaemonSetSpec(WorkloadSpec, frozen=True, kw_only=True):
    """The specification of a daemon set."""

    update_strategy: dict[str, Any] = {}


class DaemonSet(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes DaemonSet."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "DaemonSet"

    spec: DaemonSetSpec = DaemonSetSpec()
    status: dict[str, Any] = {}


class JobSpec(Wire, frozen=True, kw_only=True):
    """The specification of a job."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Job(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes Job."""

    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "Job"

    spec: JobSpec = JobSpec()
    status: dict[str, Any] = {}


class PodDisruptionBudgetSpec(Wire, frozen=True, kw_only=True):
    """How many matching pods may be missing at once."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True, kw_only=True):
    """How many disruptions are left; `disrupted_pods` maps pod name to time."""

    observed_generation: int = 0
    disrupted_pods: dict[str, str] = {}
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes PodDisruptionBudget."""

    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(TypedObject, frozen=True, kw_only=True):
    """A Kubernetes PriorityClass."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClass"

    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None
