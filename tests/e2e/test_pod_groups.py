"""Pod groups in a local cluster: what kubectl shows of them, and how they end."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.kubectl import table
from tests.support.local_up import Up

GROUP = "podgroup/training"


def test_a_training_job_of_eight(up: Callable[..., Up]) -> None:
    kubectl = up("-f", "cluster.yaml", example="pod-groups").kubectl
    kubectl("apply -f training.yaml")
    kubectl.until("get job training -o jsonpath={.status.ready}", "8")
    groups = kubectl(
        "get pods -l app=training -o jsonpath={.items[*].spec.schedulingGroup.podGroupName}"
    )
    assert groups.split() == ["training"] * 8
    header, (name, policy, workload, *_) = table(kubectl("get podgroups"))
    assert header == ["NAME", "POLICY", "WORKLOAD", "STATUS", "AGE"]
    assert (name, policy, workload) == ("training", "Gang", "<none>")
    # The group stays while pods refer to it.
    kubectl(f"delete {GROUP} --wait=false")
    assert kubectl(f"get {GROUP} -o jsonpath={{.metadata.finalizers}}") == (
        '["scheduling.k8s.io/podgroup-protection"]'
    )
    kubectl("delete job training")
    kubectl(f"wait {GROUP} --for=delete --timeout=60s")
    assert "NotFound" in kubectl.refused(f"get {GROUP}")


def test_every_manifest_of_the_example_is_accepted(up: Callable[..., Up]) -> None:
    kubectl = up("-f", "cluster.yaml", "--no-scheduler", example="pod-groups").kubectl
    for name in ("training", "two-jobs", "one-rack", "urgent"):
        kubectl(f"apply -f {name}.yaml")
    found = kubectl("get podgroups -o jsonpath={.items[*].metadata.name}")
    assert found.split() == ["blue", "close", "red", "training", "urgent"]
    assert kubectl("get podgroup urgent -o jsonpath={.spec.priority}") == "1000"
    kubectl("delete -f two-jobs.yaml")
    assert "NotFound" in kubectl.refused("get podgroup red")
