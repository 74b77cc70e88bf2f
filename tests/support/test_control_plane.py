"""The control plane that other tests use."""

from __future__ import annotations

import datetime
import subprocess
import time
from pathlib import Path

import pytest

from tests.support import kubeconfigs
from tests.support.api import Api, ApiFailure, Object
from tests.support.cluster import Cluster, turn_on
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.fixtures import run_control_plane
from tools.testenv import build

VERSION = f"v{build.REFERENCE}"


def node(name: str, **metadata: object) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, **metadata}}


def pod(name: str, **metadata: object) -> Object:
    container = {"name": "main", "image": "image"}
    body = {"metadata": {"name": name, **metadata}, "spec": {"containers": [container]}}
    return {"apiVersion": "v1", "kind": "Pod", **body}


def api_of(kubeconfig: Path, scratch: Path) -> Api:
    return Api(kubeconfigs.access(*kubeconfigs.read(kubeconfig), scratch))


@pytest.fixture
def started(control_plane: ControlPlane | GivenCluster) -> ControlPlane:
    """Return the control plane if this run started it; otherwise skip the test."""
    if not isinstance(control_plane, ControlPlane):
        pytest.skip("the cluster is a given one")
    return control_plane


def test_the_server_has_the_version_of_the_reference(started: ControlPlane) -> None:
    with Api(started.access) as api:
        version = api.request("GET", "version")
    minor = f"{version['major']}.{version['minor']}"
    assert (version["gitVersion"], minor) == (VERSION, build.minor(build.REFERENCE))
    assert version["gitTreeState"] == "clean"


@pytest.mark.parametrize("release", sorted(set(build.RELEASES) - {build.REFERENCE}))
def test_a_server_of_another_release_runs_on_the_same_etcd(release: str, tmp_path: Path) -> None:
    with run_control_plane(tmp_path, release) as plane, Api(plane.access) as api:
        assert api.request("GET", "version")["gitVersion"] == f"v{release}"


@pytest.mark.parametrize("part", ["kube_scheduler", "kubectl"])
def test_the_programs_have_the_version_of_the_reference(
    part: str, request: pytest.FixtureRequest
) -> None:
    program = request.getfixturevalue(part)
    arguments = ["version", "--client"] if part == "kubectl" else ["--version"]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    assert VERSION in done.stdout


def test_the_scheduler_has_the_rights_of_its_role_and_no_others(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.create(pod("p"))
    with api_of(cluster.plane.scheduler_kubeconfig, tmp_path) as scheduler:
        assert [one["metadata"]["name"] for one in scheduler.list("Pod", cluster.namespace)] == [
            "p"
        ]
        with pytest.raises(ApiFailure, match="system:kube-scheduler") as refused:
            scheduler.list("Secret", cluster.namespace)
    assert refused.value.status == 403


def test_an_expired_certificate_is_refused(started: ControlPlane, tmp_path: Path) -> None:
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    expired = started.kubeconfig("late", ("system:masters",), expires=yesterday)
    with api_of(expired, tmp_path) as api, pytest.raises(ApiFailure) as refused:
        api.request("GET", "api/v1/pods")
    assert refused.value.status == 401


def test_a_wait_ends_with_the_change_it_waits_for(cluster: Cluster) -> None:
    cluster.create(pod("p"))
    seen = []

    def is_bound(found: Object) -> bool:
        if not seen:
            path = cluster.api.resource("Pod").path(cluster.namespace, "p")
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}
            target = {"kind": "Node", "name": "somewhere"}
            cluster.api.request("POST", f"{path}/binding", {**binding, "target": target})
        seen.append(found)
        return "nodeName" in found["spec"]

    started = time.monotonic()
    bound = cluster.wait_for("Pod", "p", is_bound, seconds=30)
    assert bound["spec"]["nodeName"] == "somewhere"
    assert time.monotonic() - started < 20, "the change was not watched"


def test_a_wait_in_vain_shows_what_there_was(cluster: Cluster) -> None:
    cluster.create(pod("p"))
    with pytest.raises(AssertionError, match=r"Pod p did not get there within 1 s: .*Pending"):
        cluster.wait_for("Pod", "p", lambda found: "nodeName" in found["spec"], seconds=1)


def test_nothing_is_left_for_the_next_test(started: ControlPlane) -> None:
    with Api(started.access) as api:
        first = Cluster(started, api)
        first.create(pod("held", finalizers=["example.com/wait"]))
        # Created without the cluster's knowledge, as by the program under test.
        api.create(node("n"))
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        api.create({**lease, "metadata": {"name": "kube-scheduler"}}, "kube-system")
        first.wipe()
        assert api.list("Pod") == []
        assert api.list("Node") == []
        assert api.find("Lease", "kube-scheduler", "kube-system") is None
        assert {one["metadata"]["name"] for one in api.list("PriorityClass")} == {
            "system-node-critical",
            "system-cluster-critical",
        }


def test_a_given_cluster_keeps_what_the_test_did_not_make(
    started: ControlPlane, cluster: Cluster, tmp_path: Path
) -> None:
    given = GivenCluster(started.admin_kubeconfig, tmp_path)
    cluster.create(node("theirs"))
    cluster.create(pod("theirs"))
    with turn_on(given), Api(given.access) as api:
        guest = Cluster(given, api)
        guest.create(node("ours"))
        guest.create(pod("ours"))
        guest.wipe()
        assert [one["metadata"]["name"] for one in api.list("Node")] == ["theirs"]
        assert api.get("Namespace", guest.namespace)["status"]["phase"] == "Terminating"
        assert api.get("Pod", "theirs", cluster.namespace)
        # No controller empties the namespace here.
        api.delete("Pod", "ours", guest.namespace, gracePeriodSeconds=0)
    with api_of(given.admin_kubeconfig, tmp_path) as admin:
        reviewed = admin.create(
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}}
        )
    assert reviewed["status"]["userInfo"]["username"] == "test-admin"


def test_killed_parts_come_back_with_their_data(private_control_plane: ControlPlane) -> None:
    plane = private_control_plane
    with Api(plane.access) as api:
        api.create(node("kept"))
        plane.kube_apiserver.kill()
        plane.etcd.kill()
        assert not api.is_ready()
        plane.start_etcd()
        plane.start_apiserver()
        assert api.get("Node", "kept")
