from __future__ import annotations

import pytest

from mooring.api import CustomResource
from mooring.client.resources import Resource
from mooring.controllers import controlled_kinds

ALL = {name: one for name, one in vars(controlled_kinds).items() if isinstance(one, Resource)}
PATHS = {
    "DEPLOYMENTS": "/apis/apps/v1/namespaces/n/deployments",
    "REPLICA_SETS": "/apis/apps/v1/namespaces/n/replicasets",
    "STATEFUL_SETS": "/apis/apps/v1/namespaces/n/statefulsets",
    "DAEMON_SETS": "/apis/apps/v1/namespaces/n/daemonsets",
    "JOBS": "/apis/batch/v1/namespaces/n/jobs",
    "CONTROLLER_REVISIONS": "/apis/apps/v1/namespaces/n/controllerrevisions",
    "PODS": "/api/v1/namespaces/n/pods",
    "NODES": "/api/v1/nodes",
    "LEASES": "/apis/coordination.k8s.io/v1/namespaces/n/leases",
    "CLAIMS": "/api/v1/namespaces/n/persistentvolumeclaims",
    "VOLUMES": "/api/v1/persistentvolumes",
    "RESOURCE_CLAIMS": "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims",
    "RESOURCE_CLAIM_TEMPLATES": "/apis/resource.k8s.io/v1/namespaces/n/resourceclaimtemplates",
    "BUDGETS": "/apis/policy/v1/namespaces/n/poddisruptionbudgets",
    "QUOTAS": "/api/v1/namespaces/n/resourcequotas",
    "POD_GROUPS": "/apis/scheduling.k8s.io/v1beta1/namespaces/n/podgroups",
    "COMPOSITE_POD_GROUPS": "/apis/scheduling.k8s.io/v1alpha3/namespaces/n/compositepodgroups",
    "WORKLOADS": "/apis/scheduling.k8s.io/v1beta1/namespaces/n/workloads",
}


@pytest.mark.parametrize("name", ALL)
def test_each_resource_is_read_with_all_its_fields(name: str) -> None:
    resource = ALL[name]
    assert resource.struct is CustomResource
    namespace = "" if name in ("NODES", "VOLUMES") else "n"
    assert resource.path(namespace) == PATHS[name]
