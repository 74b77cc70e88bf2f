"""Tutorial 004: the first form of the framework; its v1alpha1 file, and its log in 1.36 wording."""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

from tests.support.kubectl import table
from tests.support.local_up import Up, wait_logged

IMAGE = "tanjunchen/sample-scheduler:1.0=mooring.contrib.samples:SamplePlugin"
ACCOUNT = "system:serviceaccount:kube-system:sample-scheduler-sa"
# The tutorial's log from start to end, as 1.36 words it.
STORY = """
get plugin config args: Args(favorite_color='#326CE5', favorite_number=7, thanks_to='tanjunchen')
"Listing and watching" type="*v1.PodDisruptionBudget"
"Listing and watching" type="*v1.Node"
"Add event for node" node="k8s-master"
"Add event for node" node="node01"
"Add event for node" node="node02"
"Attempting to acquire leader lease..." lock="kube-system/sample-scheduler"
"Successfully acquired lease" lock="kube-system/sample-scheduler"
"Attempting to schedule pod" pod="default/POD"
prefilter pod: POD
filter pod: POD, node: node01
filter pod: POD, node: node02
prebind node info: Node(metadata=ObjectMeta(name='NODE', ...
"Attempting to bind pod to node" pod="default/POD" node="NODE"
"Successfully bound pod to node" pod="default/POD" node="NODE" evaluatedNodes=3 feasibleNodes=2
"""


def test_a_whole_run_and_its_log(up: Callable[..., Up]) -> None:
    cluster = up("-f", "cluster.yaml", f"--image={IMAGE}", example="sample-plugin")
    kubectl = cluster.kubectl
    assert kubectl("apply -f sample-scheduler.yaml").splitlines() == [
        "clusterrole.rbac.authorization.k8s.io/sample-scheduler-clusterrole created",
        "serviceaccount/sample-scheduler-sa created",
        "clusterrolebinding.rbac.authorization.k8s.io/sample-scheduler-clusterrolebinding created",
        "configmap/scheduler-config created",
        "deployment.apps/sample-scheduler created",
    ]
    printed = kubectl.until("get pods -n kube-system -l component=sample-scheduler", "Running")
    (scheduler,) = table(printed)[1:]
    assert scheduler[1:] == ["1/1", "Running", "0", "AGE"]
    log = kubectl.start(f"logs -f {scheduler[0]} -n kube-system", cluster.folder / "logs")

    # Schedulers read more kinds than in 2020: the log names those that it may not read, and the
    # scheduler continues without them.
    for resource in ("namespaces", "csidrivers", "resourceclaims"):
        line = wait_logged(log, f'cannot list resource \\"{resource}\\"')
        assert '"Failed to watch" err="' in line
        assert f'User \\"{ACCOUNT}\\" cannot list' in line
    wait_logged(log, '"Successfully acquired lease" lock="kube-system/sample-scheduler"')
    lease = kubectl("get lease sample-scheduler -n kube-system -o yaml")
    assert yaml.safe_load(lease)["spec"]["leaseDurationSeconds"] == 15

    kubectl("apply -f test-scheduler.yaml")
    (pod,) = table(kubectl.until("get pods", "Running"))[1:]
    assert re.fullmatch(r"test-scheduler-[0-9a-f]{8,10}-[a-z0-9]{5}", pod[0])
    assert pod[1:] == ["1/1", "Running", "0", "AGE"]
    found = yaml.safe_load(kubectl(f"get pod {pod[0]} -o yaml"))
    node = found["spec"]["nodeName"]
    assert node in {"node01", "node02"}
    assert found["spec"]["schedulerName"] == "sample-scheduler"
    assert found["status"]["phase"] == "Running"
    assert found["status"]["qosClass"] == "BestEffort"
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled"):
        assert conditions[kind] == "True"

    wait_logged(log, "Successfully bound pod to node")
    log.stop()
    told = iter(log.log().splitlines())
    for wanted in STORY.replace("POD", pod[0]).replace("NODE", node).strip().splitlines():
        part = wanted.removesuffix("...")
        assert any(part in line for line in told), f"missing, or out of order: {wanted}"
