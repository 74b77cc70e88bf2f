"""The manifests on an API server that serves pod groups: their rights are enough for a gang."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mooring.cli.rights import pod_group_rules
from tests.deploy.deployed import Deployed, Right, manifests, rights_of
from tests.live.running import eventually, is_bound
from tests.support.api import Api, Object
from tests.support.control_plane import ControlPlane

NAME = "group-scheduler"
GATES = "--feature-gates=GenericWorkload=true"
STATUS = Right("scheduling.k8s.io", "podgroups/status", "patch")
READ = [Right("scheduling.k8s.io", "podgroups", verb) for verb in ("list", "watch")]


@pytest.fixture(scope="module")
def deployed(
    pod_group_control_plane: ControlPlane, kubectl: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    """Give the objects of a scheduler with the gate, applied by kubectl."""
    found = manifests("--name", NAME)
    (container,) = next(one for one in found if one["kind"] == "Deployment")["spec"]["template"][
        "spec"
    ]["containers"]
    container["args"].append(GATES)
    with Api(pod_group_control_plane.access) as api:
        folder = tmp_path_factory.mktemp("deployed")
        deployed = Deployed(pod_group_control_plane, kubectl, folder, api, found)
        deployed.kubectl("apply", "-f", "-")
        api.create(make_node())
        yield deployed


def make_node() -> Object:
    offer = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": offer, "capacity": offer},
    }


def make_gang(api: Api, name: str) -> None:
    """Create a gang of two pods."""
    policy = {"gang": {"minCount": 2}}
    head = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    group = {**head, "metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}
    api.create(group, "default")
    for number in range(2):
        spec = {
            "schedulerName": NAME,
            "schedulingGroup": {"podGroupName": name},
            "containers": [{"name": "main", "image": "app"}],
        }
        head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{number}"}}
        api.create({**head, "spec": spec}, "default")


def all_bound(api: Api, name: str) -> bool:
    return all(is_bound(api.get("Pod", f"{name}-{n}", "default")) for n in range(2))


def condition(api: Api, name: str) -> Object | None:
    status = api.get("PodGroup", name, "default").get("status", {})
    return next(iter(status.get("conditions", ())), None)


def test_no_right_exceeds_those_of_kube_scheduler(deployed: Deployed) -> None:
    theirs = rights_of(deployed.api.get("ClusterRole", "system:kube-scheduler")["rules"])
    ours = rights_of(pod_group_rules())
    # This server does not serve composite groups.
    assert {right.resource for right in ours if right not in theirs} == {"compositepodgroups"}


def test_a_gang_is_bound_and_told(deployed: Deployed) -> None:
    api = deployed.api
    with deployed.started() as pod:
        make_gang(api, "one")
        eventually(lambda: all_bound(api, "one"), "the gang is bound", 60)
        found = eventually(lambda: condition(api, "one"), "the condition")
        assert (found["status"], found["reason"]) == ("True", "Scheduled")
        assert not pod.refused_requests()


def test_a_status_that_cannot_be_written_is_said_and_the_gang_runs(deployed: Deployed) -> None:
    api = deployed.api
    with deployed.without("ClusterRole", STATUS), deployed.started() as pod:
        make_gang(api, "two")
        eventually(lambda: all_bound(api, "two"), "the gang is bound", 60)
        pod.wait_logged(STATUS.words)
    assert condition(api, "two") is None


def test_groups_that_cannot_be_read_are_said(deployed: Deployed) -> None:
    with deployed.without("ClusterRole", *READ), deployed.started() as pod:
        pod.wait_logged(READ[0].words + " at the cluster scope")
        assert pod.runs
