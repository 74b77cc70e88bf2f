"""Which checks belong to which kind."""

from __future__ import annotations

from collections.abc import Callable

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation import (
    autoscalers,
    core,
    definitions,
    device_claims,
    devices,
    events,
    jobs,
    networking,
    nodes,
    persistent_volumes,
    pod_groups,
    pod_parts,
    pods,
    policies,
    quotas,
    services,
    signing_requests,
    statuses,
    storage,
    trust_bundles,
    workloads,
)
from mooring.apiserver.validation import volume_claims as claims
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import ip_problems, label_problems
from mooring.apiserver.validation.metadata import NameCheck

#: Checks of names that replace `name_check` for some kinds.
NAMES: dict[str, NameCheck] = {
    "Namespace": label_problems,
    "StatefulSet": label_problems,
    "Service": label_problems,
    "IPAddress": ip_problems,
    "CertificateSigningRequest": lambda name: [],
    # Its name depends on its signer.
    "ClusterTrustBundle": lambda name: [],
}

Check = Callable[[Object], list[FieldError]]
Change = Callable[[Object, Object], list[FieldError]]

_RBAC = "rbac.authorization.k8s.io/v1"
_STORAGE = "storage.k8s.io/v1"
_NETWORKING = "networking.k8s.io/v1"
_CERTIFICATES = "certificates.k8s.io/v1"
_GROUP_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")

#: The checks of new objects, by group version and kind.
CREATES: dict[tuple[str, str], Check] = {
    ("v1", "Pod"): pods.check_pod,
    ("v1", "Binding"): pods.check_binding,
    ("v1", "Node"): nodes.check_node,
    ("v1", "Service"): services.check_service,
    ("v1", "ConfigMap"): core.check_config_map,
    ("v1", "Secret"): core.check_secret,
    ("v1", "Namespace"): core.check_namespace,
    ("v1", "ReplicationController"): core.check_replication_controller,
    ("v1", "ResourceQuota"): quotas.check_quota,
    ("v1", "LimitRange"): quotas.check_limit_range,
    ("v1", "Endpoints"): core.check_endpoints,
    ("v1", "Event"): events.check_event,
    ("v1", "PersistentVolume"): persistent_volumes.check_volume,
    ("v1", "PersistentVolumeClaim"): claims.check_claim,
    ("v1", "PodTemplate"): lambda obj: pods.check_template(obj["template"], "template"),
    ("events.k8s.io/v1", "Event"): events.check_new_event,
    ("apps/v1", "Deployment"): workloads.check_deployment,
    ("apps/v1", "ReplicaSet"): workloads.check_replica_set,
    ("apps/v1", "StatefulSet"): workloads.check_stateful_set,
    ("apps/v1", "DaemonSet"): workloads.check_daemon_set,
    ("apps/v1", "ControllerRevision"): workloads.check_revision,
    ("batch/v1", "Job"): jobs.check_job,
    ("batch/v1", "CronJob"): jobs.check_cron_job,
    ("policy/v1", "PodDisruptionBudget"): policies.check_budget,
    ("scheduling.k8s.io/v1", "PriorityClass"): policies.check_priority_class,
    **{(version, "PodGroup"): pod_groups.check_pod_group for version in _GROUP_VERSIONS},
    **{(version, "Workload"): pod_groups.check_workload for version in _GROUP_VERSIONS},
    (_RBAC, "Role"): policies.check_role,
    (_RBAC, "ClusterRole"): policies.check_cluster_role,
    (_RBAC, "RoleBinding"): policies.check_role_binding,
    (_RBAC, "ClusterRoleBinding"): policies.check_cluster_role_binding,
    ("coordination.k8s.io/v1", "Lease"): policies.check_lease,
    ("node.k8s.io/v1", "RuntimeClass"): policies.check_runtime_class,
    (_STORAGE, "StorageClass"): storage.check_storage_class,
    (_STORAGE, "VolumeAttributesClass"): storage.check_attributes_class,
    (_STORAGE, "CSIDriver"): storage.check_driver,
    (_STORAGE, "CSINode"): storage.check_csi_node,
    (_STORAGE, "VolumeAttachment"): storage.check_attachment,
    (_STORAGE, "CSIStorageCapacity"): storage.check_capacity,
    (_NETWORKING, "Ingress"): networking.check_ingress,
    (_NETWORKING, "IngressClass"): networking.check_ingress_class,
    (_NETWORKING, "NetworkPolicy"): networking.check_network_policy,
    (_NETWORKING, "IPAddress"): networking.check_address,
    (_NETWORKING, "ServiceCIDR"): networking.check_service_range,
    ("discovery.k8s.io/v1", "EndpointSlice"): networking.check_endpoint_slice,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): autoscalers.check_autoscaler,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): autoscalers.check_autoscaler,
    ("resource.k8s.io/v1", "ResourceClaim"): device_claims.check_claim,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): device_claims.check_template,
    ("resource.k8s.io/v1", "DeviceClass"): device_claims.check_device_class,
    ("resource.k8s.io/v1", "ResourceSlice"): devices.check_slice,
    ("resource.k8s.io/v1", "DeviceTaintRule"): devices.check_taint_rule,
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): definitions.check_definition,
    (_CERTIFICATES, "CertificateSigningRequest"): signing_requests.check_signing_request,
    (_CERTIFICATES, "ClusterTrustBundle"): trust_bundles.check_bundle,
    ("storagemigration.k8s.io/v1", "StorageVersionMigration"): storage.check_migration,
}

_CHANGES: dict[tuple[str, str], Change] = {
    # The finalizers of a namespace change only through a subresource.
    ("v1", "Namespace"): lambda namespace, old: [],
    ("v1", "Pod"): pods.check_pod_update,
    ("v1", "Node"): nodes.check_node_update,
    ("v1", "Service"): services.check_service_update,
    ("v1", "ConfigMap"): core.check_config_map_update,
    ("v1", "Secret"): core.check_secret_update,
    ("v1", "ResourceQuota"): quotas.check_quota_update,
    ("v1", "PersistentVolume"): persistent_volumes.check_volume_update,
    ("v1", "PersistentVolumeClaim"): claims.check_claim_update,
    ("events.k8s.io/v1", "Event"): events.check_new_event_update,
    ("apps/v1", "Deployment"): workloads.check_deployment_update,
    ("apps/v1", "ReplicaSet"): workloads.check_replica_set_update,
    ("apps/v1", "StatefulSet"): workloads.check_stateful_set_update,
    ("apps/v1", "DaemonSet"): workloads.check_daemon_set_update,
    ("batch/v1", "Job"): jobs.check_job_update,
    ("scheduling.k8s.io/v1", "PriorityClass"): policies.check_priority_class_update,
    **{(version, "PodGroup"): lambda group, old: [] for version in _GROUP_VERSIONS},
    (_RBAC, "RoleBinding"): policies.check_role_binding_update,
    (_RBAC, "ClusterRoleBinding"): policies.check_cluster_role_binding_update,
    ("node.k8s.io/v1", "RuntimeClass"): policies.check_runtime_class_update,
    (_STORAGE, "StorageClass"): storage.check_storage_class_update,
    (_STORAGE, "VolumeAttributesClass"): storage.check_attributes_class_update,
    (_STORAGE, "CSIDriver"): storage.check_driver_update,
    (_STORAGE, "VolumeAttachment"): storage.check_attachment_update,
    (_STORAGE, "CSIStorageCapacity"): storage.check_capacity_update,
    (_NETWORKING, "IngressClass"): networking.check_ingress_class_update,
    (_NETWORKING, "IPAddress"): networking.check_address_update,
    (_NETWORKING, "ServiceCIDR"): networking.check_service_range_update,
    ("apps/v1", "ControllerRevision"): workloads.check_revision_update,
    (_STORAGE, "CSINode"): storage.check_csi_node_update,
    ("discovery.k8s.io/v1", "EndpointSlice"): networking.check_endpoint_slice_update,
    ("resource.k8s.io/v1", "ResourceClaim"): device_claims.check_claim_update,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): device_claims.check_template_update,
    ("resource.k8s.io/v1", "ResourceSlice"): devices.check_slice_update,
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): definitions.check_definition_update,
    (_CERTIFICATES, "ClusterTrustBundle"): trust_bundles.check_bundle_update,
    ("storagemigration.k8s.io/v1", "StorageVersionMigration"): storage.check_migration_update,
}


def _again(check: Check) -> Change:
    """Return a check that treats an updated object as a new one."""
    return lambda obj, old: check(obj)


#: The checks of updates, by group version, kind and subresource.
UPDATES: dict[tuple[str, str, str], Change] = {
    **{(version, kind, ""): _again(check) for (version, kind), check in CREATES.items()},
    **{(version, kind, ""): change for (version, kind), change in _CHANGES.items()},
    ("v1", "Pod", "status"): pod_parts.check_pod_status,
    ("v1", "Pod", "resize"): pod_parts.check_resize,
    ("v1", "Pod", "ephemeralcontainers"): pod_parts.check_ephemeral,
    ("v1", "Node", "status"): nodes.check_node_update,
    ("v1", "Namespace", "status"): core.check_namespace_status,
    ("v1", "Namespace", "finalize"): core.check_namespace_finalizers,
    ("v1", "ResourceQuota", "status"): quotas.check_quota_status,
    ("v1", "ReplicationController", "status"): statuses.check_replica_set_status,
    ("v1", "Service", "status"): statuses.check_service_status,
    (_NETWORKING, "Ingress", "status"): statuses.check_ingress_status,
    ("batch/v1", "Job", "status"): statuses.check_job_status,
    ("policy/v1", "PodDisruptionBudget", "status"): statuses.check_budget_status,
    **{
        (version, "PodGroup", "status"): pod_groups.check_pod_group_status
        for version in _GROUP_VERSIONS
    },
    ("scheduling.k8s.io/v1alpha3", "CompositePodGroup", "status"): (
        pod_groups.check_composite_status
    ),
    ("apps/v1", "Deployment", "status"): statuses.check_deployment_status,
    ("apps/v1", "ReplicaSet", "status"): statuses.check_replica_set_status,
    ("apps/v1", "StatefulSet", "status"): statuses.check_stateful_set_status,
    ("apps/v1", "DaemonSet", "status"): statuses.check_daemon_set_status,
    ("autoscaling/v1", "HorizontalPodAutoscaler", "status"): statuses.check_autoscaler_status,
    ("autoscaling/v2", "HorizontalPodAutoscaler", "status"): statuses.check_autoscaler_status,
    (_CERTIFICATES, "CertificateSigningRequest", "approval"): signing_requests.check_approval,
    (_CERTIFICATES, "CertificateSigningRequest", "status"): signing_requests.check_status,
    ("storagemigration.k8s.io/v1", "StorageVersionMigration", "status"): (
        statuses.check_migration_status
    ),
}
