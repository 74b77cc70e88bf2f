"""A right that is missing: the log says which, in the API server's words, and nothing crashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.deploy import scenes
from tests.deploy.deployed import Deployed, Right
from tests.deploy.scheduler_pods import SchedulerPod, make_token
from tests.deploy.test_missing_read_rights import CLUSTER_RIGHTS, CLUSTER_SCOPE, READ
from tests.live.running import condition, events, eventually, is_bound
from tests.support.cluster import Cluster

RESOURCE = "resource.k8s.io"

PODS_DELETE = Right("", "pods", "delete")
PODS_GET = Right("", "pods", "get")
BIND = Right("", "pods/binding", "create")
STATUS = Right("", "pods/status", "patch")
VOLUMES = Right("", "persistentvolumes", "patch")
VOLUME_CLAIMS = Right("", "persistentvolumeclaims", "patch")
CLAIMS_CREATE = Right(RESOURCE, "resourceclaims", "create")
CLAIMS_DELETE = Right(RESOURCE, "resourceclaims", "delete")
CLAIMS_GET = Right(RESOURCE, "resourceclaims", "get")
CLAIMS_PATCH = Right(RESOURCE, "resourceclaims", "patch")
CLAIMS_BINDING = Right(RESOURCE, "resourceclaims/binding", "patch")
CLAIMS_STATUS = Right(RESOURCE, "resourceclaims/status", "patch")
EVENTS_CREATE = Right("events.k8s.io", "events", "create")
EVENTS_PATCH = Right("events.k8s.io", "events", "patch")
TOKENS = Right("authentication.k8s.io", "tokenreviews", "create")
ACCESS = Right("authorization.k8s.io", "subjectaccessreviews", "create")


# What a scheduler that runs does, and cannot do: the scene in which it wants to, and what follows.


def hold_and_bind(cluster: Cluster) -> None:
    """Bind a pod while the scheduler is about to."""
    scenes.held(cluster)
    cluster.wait_for("Pod", "held", lambda found: found["status"].get("nominatedNodeName"))
    target = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "held"}}
    path = f"api/v1/namespaces/{cluster.namespace}/pods/held/binding"
    cluster.api.request("POST", path, {**binding, "target": target})
    scenes.release(cluster)


def hold_and_touch_claim(cluster: Cluster) -> None:
    """Change a claim that the scheduler is about to write."""
    scenes.device(cluster, hold="")
    cluster.wait_for("Pod", "user", lambda found: found["status"].get("nominatedNodeName"))
    scenes.touch(cluster, "ResourceClaim", "claim")
    scenes.release(cluster)


def fail_twice(cluster: Cluster) -> None:
    """Have a pod fail twice in the same way: the second time counts the first Event up.

    Both Events must regard one version of the pod, and the condition that the first attempt writes
    makes another one. So the pod is changed after that, and the scheduler has seen the change when
    an Event regards it.
    """
    scenes.refused(cluster)
    cluster.wait_for("Pod", "refused", condition)
    changed = cluster.api.patch(
        "Pod", "refused", {"metadata": {"labels": {"a": "b"}}}, cluster.namespace
    )
    version = changed["metadata"]["resourceVersion"]

    def regards_it() -> bool:
        found = events(cluster, "refused", "FailedScheduling")
        return any(event["regarding"]["resourceVersion"] == version for event in found)

    eventually(regards_it, "an Event about the changed pod", 60)
    cluster.api.patch("Node", "n", {"metadata": {"labels": {"a": "b"}}})


Scene = Callable[[Cluster], None]
SCENES: dict[Right, tuple[Scene, tuple[Right, ...], str]] = {
    # right: scene, rights that are gone too, the pod whose condition has the words
    BIND: (scenes.plain, (), "plain"),
    STATUS: (scenes.unschedulable, (), ""),
    PODS_DELETE: (scenes.preemption, (), ""),
    PODS_GET: (hold_and_bind, (), ""),
    VOLUMES: (scenes.static_volume, (), "user"),
    VOLUME_CLAIMS: (scenes.provisioned_volume, (), "user"),
    CLAIMS_PATCH: (scenes.device, (), "user"),
    CLAIMS_STATUS: (scenes.device, (), "user"),
    CLAIMS_BINDING: (scenes.device, (), "user"),
    CLAIMS_GET: (hold_and_touch_claim, (), "user"),
    CLAIMS_CREATE: (scenes.extended_device, (), "user"),
    CLAIMS_DELETE: (scenes.extended_device, (BIND,), ""),
    EVENTS_CREATE: (scenes.plain, (), ""),
    EVENTS_PATCH: (fail_twice, (), ""),
}


def words_of(value: object) -> str:
    return f"{value.verb} {value.resource}" if isinstance(value, Right) else ""


@pytest.mark.parametrize("right", SCENES, ids=words_of)
def test_a_thing_that_cannot_be_done(
    deployed: Deployed, running: SchedulerPod, cluster: Cluster, right: Right
) -> None:
    scene, more, pod = SCENES[right]
    start = len(running.log())
    with deployed.without("ClusterRole", right, *more):
        scene(cluster)
        running.wait_logged(right.words, start)
        if pod:
            found = cluster.wait_for("Pod", pod, condition)
            assert condition(found)["reason"] == "SchedulerError"
            assert right.words in condition(found)["message"]
    # Nothing is left of it once the right is there.
    cluster.create(scenes.ours("next"))
    cluster.wait_for("Pod", "next", is_bound)


@pytest.mark.parametrize("right", [TOKENS, ACCESS], ids=words_of)
def test_a_caller_who_cannot_be_checked(
    deployed: Deployed, running: SchedulerPod, cluster: Cluster, right: Right
) -> None:
    start = len(running.log())
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": right.resource}}
    cluster.create(account)
    with deployed.without("ClusterRole", right):
        token = make_token(deployed.plane, right.resource, cluster.namespace)
        assert running.status("/metrics", token) == (401 if right == TOKENS else 500)
        running.wait_logged(right.words + CLUSTER_SCOPE, start)
        assert running.status("/livez") == 200


def test_every_right_was_taken_away_once() -> None:
    tried = {Right(*kind, verb) for kind in READ for verb in ("list", "watch")}
    tried |= {*SCENES, TOKENS, ACCESS}
    assert tried == set(CLUSTER_RIGHTS)
