"""Rights that are missing while a scheduler starts: those to its lease, and to know its callers.

Apart from the others, whose scheduler holds the lease.
"""

from __future__ import annotations

import pytest

from mooring.cli.rights import lease_rules
from tests.deploy.deployed import Deployed, Right, rights_of
from tests.live.running import eventually
from tests.support.cluster import Cluster


def words_of(right: Right) -> str:
    return f"{right.verb} {right.resource}"


@pytest.mark.parametrize("right", rights_of(lease_rules("")), ids=words_of)
def test_a_lease_that_cannot_be_had(deployed: Deployed, cluster: Cluster, right: Right) -> None:
    if right.verb == "update":
        # Nobody updates a lease that nobody has held.
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        cluster.create({**lease, "metadata": {"name": deployed.name, "namespace": "kube-system"}})
    with deployed.without("Role", right), deployed.started() as pod:
        pod.wait_logged(right.words + ' in the namespace "kube-system"')
        assert pod.status("/readyz") == 200
        assert "Traceback" not in pod.log()
        assert pod.runs


def test_client_certificates_that_cannot_be_known(deployed: Deployed) -> None:
    binding = deployed.find_named("RoleBinding", f"{deployed.name}-authentication-reader")
    deployed.api.delete("RoleBinding", binding["metadata"]["name"], "kube-system")
    try:
        with deployed.started() as pod:
            pod.wait_logged('cannot get resource "configmaps" in API group "" in the namespace')
            pod.wait_logged("Continuing without authentication configuration")
            eventually(lambda: pod.status("/readyz") == 200, "the scheduler is ready")
    finally:
        deployed.kubectl("apply", "-f", "-")
