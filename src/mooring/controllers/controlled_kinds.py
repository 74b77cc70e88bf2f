"""The resources that controllers read and write with all their fields."""

from __future__ import annotations

from mooring.api import (
    DaemonSet,
    Deployment,
    Job,
    Lease,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ResourceClaim,
    ResourceClaimTemplate,
    StatefulSet,
)
from mooring.client.resources import raw_resource

DEPLOYMENTS = raw_resource(Deployment)
REPLICA_SETS = raw_resource(ReplicaSet)
STATEFUL_SETS = raw_resource(StatefulSet)
DAEMON_SETS = raw_resource(DaemonSet)
JOBS = raw_resource(Job)
CONTROLLER_REVISIONS = raw_resource("controllerrevisions.v1.apps")
PODS = raw_resource(Pod)
NODES = raw_resource(Node)
LEASES = raw_resource(Lease)
CLAIMS = raw_resource(PersistentVolumeClaim)
VOLUMES = raw_resource(PersistentVolume)
RESOURCE_CLAIMS = raw_resource(ResourceClaim)
RESOURCE_CLAIM_TEMPLATES = raw_resource(ResourceClaimTemplate)
BUDGETS = raw_resource(PodDisruptionBudget)
POD_GROUPS = raw_resource("podgroups.v1beta1.scheduling.k8s.io")
COMPOSITE_POD_GROUPS = raw_resource("compositepodgroups.v1alpha3.scheduling.k8s.io")
WORKLOADS = raw_resource("workloads.v1beta1.scheduling.k8s.io")
QUOTAS = raw_resource("resourcequotas.v1.")
