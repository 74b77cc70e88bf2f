"""With the rights of their manifests alone, plugins and controllers do their work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.contrib.live import elastic_quota, pod_group, worker
from tests.contrib.on_server import add_custom, report_phase, serve_scheduling, status_is
from tests.contrib.profiles import configuration
from tests.deploy.deployed import Deployed, manifests
from tests.deploy.scheduler_pods import SchedulerPod
from tests.live.running import condition, events, eventually, is_bound, node
from tests.support.cluster import Cluster

NAME = "family"


@pytest.fixture
def served(cluster: Cluster) -> Cluster:
    """Return a cluster that serves the custom resources of scheduling.x-k8s.io."""
    return serve_scheduling(cluster)


@pytest.fixture
def family(served: Cluster, kubectl: Path, tmp_path: Path) -> Iterator[Deployed]:
    """Give the objects of a scheduler with plugins that read custom resources."""
    if not served.plane.owned:
        pytest.skip("makes cluster roles, on a cluster of its own only")
    config = tmp_path / "config.yaml"
    text = yaml.safe_dump(
        configuration("Coscheduling", "CapacityScheduling", disabled=["PrioritySort"])
    ).replace("default-scheduler", NAME)
    config.write_text(text)
    found = manifests("--name", NAME, "--config", str(config), "--controllers")
    deployed = Deployed(served.plane, kubectl, tmp_path, served.api, found)
    deployed.kubectl("apply", "-f", "-")
    yield deployed
    deployed.kubectl("delete", "--wait=false", "-f", "-")


@pytest.fixture
def controllers(family: Deployed, tmp_path: Path) -> Iterator[SchedulerPod]:
    """Give a pod of the controllers that leads."""
    folder = tmp_path / "controllers"
    folder.mkdir()
    deployment = family.find_named("Deployment", f"{NAME}-controllers")
    pod = SchedulerPod(folder, deployment, [], family.plane)
    pod.start()
    try:
        pod.wait_logged("Successfully acquired lease")
        yield pod
    finally:
        pod.stop()


def test_gangs_and_quotas_need_no_other_right(
    family: Deployed, controllers: SchedulerPod, served: Cluster
) -> None:
    served.create(node("n"))
    add_custom(served, pod_group("g", 2))
    quota = elastic_quota(served.namespace, "2", "3")
    quota["spec"] = {key: {**one, "memory": "1Gi"} for key, one in quota["spec"].items()}
    add_custom(served, quota)
    with family.started() as scheduler:
        scheduler.wait_logged("Successfully acquired lease")
        for name in ("m0", "m1"):
            served.create(worker(name, "g", served.namespace, schedulerName=NAME))
        for name in ("m0", "m1"):
            served.wait_for("Pod", name, is_bound)
        status_is(served, "podgroups", "g", {"phase": "Scheduling"})
        for name in ("m0", "m1"):
            report_phase(served, name, "Running")
        status_is(served, "podgroups", "g", {"phase": "Running", "running": 2})
        status_is(served, "elasticquotas", "quota", {"used": {"cpu": "2", "memory": "0"}})
        quota_events = f"api/v1/namespaces/{served.namespace}/events"
        eventually(
            lambda: [
                one
                for one in served.api.request("GET", quota_events)["items"]
                if one["reason"] == "Synced"
            ],
            "the Event about the quota",
        )
        for name in ("more", "most"):
            served.create(worker(name, "", served.namespace, schedulerName=NAME))
        found = served.wait_for("Pod", "most", lambda one: condition(one).get("status") == "False")
        assert "ElasticQuota" in condition(found)["message"]
        assert events(served, "m0", "Scheduled")
        for process in (scheduler, controllers):
            assert not process.refused_requests()
            assert "A right is missing" not in process.log()
    assert controllers.runs
