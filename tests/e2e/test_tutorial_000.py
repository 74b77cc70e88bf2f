"""Tutorial 000: a plugin that filters by label, deployed as a pod with its own rights."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.support.kubectl import table
from tests.support.local_up import Up
from tests.support.processes import Process
from tests.support.tutorials import Tutorial
from tests.support.waiting import eventually

IMAGE = "--image=cfanbo/sample-scheduler:v0.0.1=mooring.contrib.samples:Sample"
NO_FIT = (
    "0/4 nodes are available: 1 Node: k8s, 1 Node: node1, 1 node(s) had untolerated taint(s), "
    "1 node(s) were unschedulable. preemption: 0/4 nodes are "
    "available: 2 No preemption victims found for incoming pod, 2 Preemption is not helpful for "
    "scheduling."
)
SELECTED = "-n kube-system --selector=component=sample-scheduler"
#: The names of the two pods in the tutorial's run.
SCHEDULER = "sample-scheduler-85cd75d775-jq4c7"
POD = "test-scheduler-78c89768cf-5d9ct"
DESCRIBE = f"kubectl describe pod {POD}"
TEST_PODS = "kubectl get pods --selector=app=test-scheduler"


def test_the_pod_waits_for_the_label(up: Callable[..., Up]) -> None:
    cluster = up("-f", "cluster.yaml", IMAGE, example="sample")
    kubectl, tutorial = cluster.kubectl, Tutorial("000")
    tutorial.write(cluster.workplace, "sample-scheduler.yaml", "test-scheduler.yaml")
    assert table(kubectl(tutorial.command("kubectl get node")))[1:] == [
        ["k8s", "Ready", "control-plane", "AGE", "v1.37.1"],
        ["node1", "Ready", "<none>", "AGE", "v1.37.1"],
        ["node2", "NotReady", "<none>", "AGE", "v1.37.1"],
        ["node3", "NotReady,SchedulingDisabled", "<none>", "AGE", "v1.37.1"],
    ]

    applied = kubectl(tutorial.command("kubectl apply -f sample-scheduler.yaml"))
    assert applied.splitlines() == [
        "clusterrole.rbac.authorization.k8s.io/sample-scheduler-clusterrole created",
        "serviceaccount/sample-scheduler-sa created",
        "clusterrolebinding.rbac.authorization.k8s.io/sample-scheduler-clusterrolebinding created",
        "configmap/scheduler-config created",
        "deployment.apps/sample-scheduler created",
    ]
    running = table(kubectl.until(tutorial.command(f"kubectl get pod {SELECTED}"), "Running"))
    ((scheduler, *shown),) = running[1:]
    assert shown == ["1/1", "Running", "0", "AGE"]
    put = {SCHEDULER: scheduler}
    process = f"kubectl exec -it -n kube-system pod/{SCHEDULER} -- ps -auxww"
    refused = kubectl.refused(tutorial.command(process, put))
    assert "exec is not possible: the local cluster simulates containers" in refused
    logs = tutorial.command(f"kubectl logs -n kube-system -f {SCHEDULER}", put)
    log = kubectl.start(logs, cluster.folder / "scheduler.log")
    try:
        _follow(cluster, log, tutorial)
    finally:
        log.kill()
    # The scheduler's help is that of `mooring run`, which has the flags of the Deployment.
    printed = cluster.run(*tutorial.command("bin/sample-scheduler -h").split()[1:], name="help")
    assert printed.wait() == 0
    for flag in ("--config", "--v=3"):
        name = tutorial.command(flag).partition("=")[0]
        assert re.search(rf"^ *(?:-\w, )?{name} ", printed.log(), re.MULTILINE)
    assert tutorial.left() == []


def _follow(cluster: Up, log: Process, tutorial: Tutorial) -> None:
    """Follow the tutorial's test of the plugin, and check its log."""
    kubectl = cluster.kubectl

    # Pending: no node has the label.
    created = kubectl(tutorial.command("kubectl apply -f test-scheduler.yaml"))
    assert created == "deployment.apps/test-scheduler created\n"
    listed = table(kubectl.until(tutorial.command(TEST_PODS), "Pending"))
    ((name, *shown),) = listed[1:]
    assert shown == ["0/1", "Pending", "0", "AGE"]
    describe = tutorial.command(DESCRIBE, {POD: name})
    described = kubectl.until(describe, "FailedScheduling")
    assert _event(described, "FailedScheduling") == ("sample-scheduler", NO_FIT)
    assert re.search(r"^Node: +<none>$", described, re.MULTILINE)
    assert re.search(r"^Status: +Pending$", described, re.MULTILINE)
    pod = f'pod="default/{name}"'
    eventually(
        lambda: f'"Unable to schedule pod; no fit; waiting" {pod} err="{NO_FIT}"' in log.log(),
        "the refusal in the log",
    )

    # With the label, the pod is scheduled.
    labeled = kubectl(tutorial.command("kubectl label nodes node1 cpu=true"))
    assert labeled == "node/node1 labeled\n"
    assert table(kubectl(tutorial.command("kubectl get nodes -l=cpu=true")))[1:] == [
        ["node1", "Ready", "<none>", "AGE", "v1.37.1"]
    ]
    listed = table(kubectl.until(tutorial.command(TEST_PODS), "Running"))
    assert listed[1:] == [[name, "1/1", "Running", "0", "AGE"]]
    described = kubectl(describe)
    assert re.search(r"^Node: +node1/", described, re.MULTILINE)
    assert _event(described, "FailedScheduling") == ("sample-scheduler", NO_FIT)
    assigned = f"Successfully assigned default/{name} to node1"
    assert _event(described, "Scheduled") == ("sample-scheduler", assigned)
    described = kubectl.until(describe, "Started")
    teller, told = _event(described, "Pulled")
    assert teller == "kubelet"
    assert told.startswith('Container image "nginx:1.23-alpine" already present on machine')

    # The scheduler's log shows it.
    bound = f'"Successfully bound pod to node" {pod} node="node1" evaluatedNodes=4 feasibleNodes=1'
    eventually(lambda: bound in log.log(), "the binding in the log")
    story = [
        f'"Add event for unscheduled pod" {pod}',
        f'"Attempting to schedule pod" {pod}',
        f"filter pod: {name}, node: k8s",
        f"filter pod: {name}, node: node1",
        '"Unable to schedule pod; no fit; waiting"',
        f'"Attempting to schedule pod" {pod}',
        f"filter pod: {name}, node: node1",
        f'"Attempting to bind pod to node" {pod} node="node1"',
        bound,
    ]
    rest = log.log()
    for line in story:
        assert line in rest, f"{line} is missing, or too early in:\n{log.log()}"
        rest = rest[rest.index(line) + len(line) :]

    # Deleting the Deployment ends the process, and the log.
    kubectl("delete deployment sample-scheduler -n kube-system")
    assert log.wait() == 0
    kubectl(f"wait --for=delete pod {SELECTED}")


def _event(described: str, reason: str) -> tuple[str, str]:
    """Return the source and the message of a pod's event, which may have occurred repeatedly."""
    lines = [one for one in described.splitlines() if re.match(rf"  \w+ +{reason} ", one)]
    ((teller, told),) = {tuple(re.split(r" {2,}", line.strip(), maxsplit=4)[3:]) for line in lines}
    return teller, told
