"""The manifests on an API server with RBAC: what they allow is enough, and not too much."""

# kubernetes: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cli.rights import cluster_rules, lease_rules, pod_group_rules
from tests.deploy import scenes
from tests.deploy.conftest import NAME
from tests.deploy.deployed import RBAC, Deployed, manifests, rights_of
from tests.deploy.scheduler_pods import SchedulerPod, make_token
from tests.live.running import events, eventually, is_bound, node, pod
from tests.support.api import Object
from tests.support.cluster import Cluster


def test_the_server_takes_everything_and_finds_nothing_to_say(deployed: Deployed) -> None:
    said = deployed.kubectl("apply", "-f", "-").splitlines()
    # kubectl replaces the selector of a PodDisruptionBudget even by itself.
    quiet = (" unchanged", "poddisruptionbudget.policy/my-scheduler configured")
    assert [line for line in said if not line.endswith(quiet)] == []
    assert len(said) == len(deployed.objects)


def test_the_pod_is_admitted_where_pods_are_restricted(
    deployed: Deployed, cluster: Cluster
) -> None:
    label = "pod-security.kubernetes.io/enforce"
    cluster.api.patch(
        "Namespace", cluster.namespace, {"metadata": {"labels": {label: "restricted"}}}
    )
    template = deployed.deployment["spec"]["template"]
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "scheduler"}}
    made = cluster.create({**head, "spec": template["spec"]})
    assert made["spec"]["securityContext"]["runAsNonRoot"] is True


def test_no_right_exceeds_those_of_kube_scheduler(deployed: Deployed) -> None:
    found = [
        rule
        for name in ("system:kube-scheduler", "system:volume-scheduler")
        for rule in deployed.api.get("ClusterRole", name)["rules"]
    ]
    locking = deployed.api.get("Role", "system::leader-locking-kube-scheduler", "kube-system")
    # Their role has the rights on pod groups if the server serves them.
    theirs = rights_of([*found, *pod_group_rules()])
    assert [right for right in rights_of(cluster_rules()) if right not in theirs] == []
    on_leases = rights_of([*found, *locking["rules"]])
    assert [right for right in rights_of(lease_rules(NAME)) if right not in on_leases] == []


def held_lease(cluster: Cluster) -> Object:
    """Return the lease of the scheduler; another test's end takes it away for a moment."""
    lease = eventually(lambda: cluster.api.find("Lease", NAME, "kube-system"), "the lease is held")
    assert lease is not None
    return lease


def test_a_pod_is_bound_and_the_lease_is_held(
    deployed: Deployed, running: SchedulerPod, cluster: Cluster
) -> None:
    scenes.plain(cluster)
    cluster.wait_for("Pod", "plain", is_bound)
    (event,) = eventually(lambda: events(cluster, "plain", "Scheduled"), "the Event")
    assert event["reportingController"] == NAME
    lease = held_lease(cluster)
    assert lease["spec"]["holderIdentity"]
    about_lease = f"{lease['spec']['holderIdentity']} became leader"
    path = "api/v1/namespaces/kube-system/events"
    assert about_lease in [one["message"] for one in cluster.api.request("GET", path)["items"]]
    scenes.unschedulable(cluster)
    cluster.wait_for("Pod", "stuck", lambda found: found["status"].get("conditions"))
    assert not running.refused_requests()


def test_a_victim_makes_room(running: SchedulerPod, cluster: Cluster) -> None:
    scenes.preemption(cluster)
    cluster.wait_for("Pod", "preemptor", is_bound)
    assert cluster.api.find("Pod", "victim", cluster.namespace) is None
    assert eventually(lambda: events(cluster, "victim", "Preempted"), "the Event")
    assert not running.refused_requests()


def test_a_volume_is_bound(running: SchedulerPod, cluster: Cluster) -> None:
    scenes.static_volume(cluster)
    cluster.wait_for(
        "PersistentVolume", "volume", lambda found: found["spec"].get("claimRef", {}).get("name")
    )
    scenes.bind_volume(cluster)
    cluster.wait_for("Pod", "user", is_bound)


def test_a_node_is_chosen_for_a_volume_to_be_made(running: SchedulerPod, cluster: Cluster) -> None:
    scenes.provisioned_volume(cluster)
    chosen = "volume.kubernetes.io/selected-node"
    cluster.wait_for(
        "PersistentVolumeClaim",
        "claim",
        lambda found: found["metadata"].get("annotations", {}).get(chosen) == "n",
    )


def test_a_device_is_allocated(running: SchedulerPod, cluster: Cluster) -> None:
    scenes.device(cluster)
    cluster.wait_for("Pod", "user", is_bound)
    claim = cluster.api.get("ResourceClaim", "claim", cluster.namespace)
    assert claim["status"]["reservedFor"][0]["name"] == "user"


def test_a_claim_is_made_for_an_extended_resource(running: SchedulerPod, cluster: Cluster) -> None:
    scenes.extended_device(cluster)
    cluster.wait_for("Pod", "user", is_bound)
    (claim,) = cluster.api.list("ResourceClaim", cluster.namespace)
    assert claim["status"]["allocation"]
    assert not running.refused_requests()


READER = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "reads-metrics"},
    "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
}


@pytest.fixture
def reader(deployed: Deployed, cluster: Cluster) -> Iterator[str]:
    """Give the token of an account that may read metrics."""
    for name in ("reader", "stranger"):
        head = {"apiVersion": "v1", "kind": "ServiceAccount"}
        cluster.create({**head, "metadata": {"name": name}})
    cluster.create(READER)
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": cluster.namespace}
    binding: Object = {
        **READER,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads-metrics"},
        "subjects": [subject],
    }
    cluster.create({key: value for key, value in binding.items() if key != "rules"})
    yield make_token(deployed.plane, "reader", cluster.namespace)
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        cluster.api.delete(kind, "reads-metrics")


def test_metrics_are_for_those_who_may_read_them(
    deployed: Deployed, running: SchedulerPod, cluster: Cluster, reader: str
) -> None:
    eventually(lambda: running.status("/metrics", reader) == 200, "metrics for the reader")
    stranger = make_token(deployed.plane, "stranger", cluster.namespace)
    assert running.status("/metrics") == 403
    assert running.status("/metrics", "nobody's") == 401
    assert running.status("/livez") == 200
    answer = running.get("/metrics", stranger)
    assert answer is not None
    assert answer.status_code == 403
    assert 'cannot get path "/metrics"' in json.loads(answer.text)["message"]


def test_two_schedulers_side_by_side(
    deployed: Deployed, running: SchedulerPod, cluster: Cluster, tmp_path: Path
) -> None:
    other = Deployed(
        deployed.plane, deployed.kubectl_program, tmp_path, cluster.api, manifests("--name=other")
    )
    other.kubectl("apply", "-f", "-")
    held_lease(cluster)
    try:
        with other.started() as second, deployed.started() as standby:
            second.wait_logged("Successfully acquired lease")
            eventually(lambda: standby.status("/readyz") == 200, "the standby is ready")
            standby.wait_logged("Attempting to acquire leader lease")
            cluster.create(node("n"))
            for name in (NAME, "other"):
                cluster.create(pod(name, spec={"schedulerName": name}))
                cluster.wait_for("Pod", name, is_bound)
            assert "Successfully acquired lease" not in standby.log()
            assert not second.refused_requests()
    finally:
        other.kubectl("delete", "--wait=false", "-f", "-")
