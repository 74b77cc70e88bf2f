"""Tutorial 004: the first form of the framework; its v1alpha1 file, and its log in 1.36 wording."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml

from tests.support.kubectl import table
from tests.support.local_up import Up, wait_logged
from tests.support.tutorials import Tutorial, document

IMAGE = "tanjunchen/sample-scheduler:1.0=mooring.contrib.samples:SamplePlugin"
ACCOUNT = "system:serviceaccount:kube-system:sample-scheduler-sa"
#: What the text writes where a pod's name belongs.
POD_NAME = "pod\u540d\u79f0"
#: The fields of the printed pod that every cluster fills in alike.
SAME = (
    "dnsPolicy",
    "enableServiceLinks",
    "priority",
    "restartPolicy",
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "tolerations",
)
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
    kubectl, tutorial = cluster.kubectl, Tutorial("004")
    # The text has the flag before the verb, so kubectl looks for a plugin of its own.
    mistaken = kubectl.refused(tutorial.command("kubectl -f apply  *.yaml"))
    assert mistaken == "Error: flags cannot be placed before plugin name: -f\n"
    tutorial.write(cluster.workplace, "sample-scheduler.yaml", "test-scheduler.yaml")
    assert kubectl("apply -f sample-scheduler.yaml").splitlines() == [
        "clusterrole.rbac.authorization.k8s.io/sample-scheduler-clusterrole created",
        "serviceaccount/sample-scheduler-sa created",
        "clusterrolebinding.rbac.authorization.k8s.io/sample-scheduler-clusterrolebinding created",
        "configmap/scheduler-config created",
        "deployment.apps/sample-scheduler created",
    ]
    selected = "-n kube-system -l component=sample-scheduler"
    printed = kubectl.until(tutorial.command(f"kubectl get pods {selected}"), "Running")
    (scheduler,) = table(printed)[1:]
    assert scheduler[1:] == ["1/1", "Running", "0", "AGE"]
    logs = tutorial.command(f"kubectl logs -f {POD_NAME} -n kube-system", {POD_NAME: scheduler[0]})
    log = kubectl.start(logs, cluster.folder / "logs")

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
    (pod,) = table(kubectl.until(tutorial.command("kubectl get pods"), "Running"))[1:]
    assert re.fullmatch(r"test-scheduler-[0-9a-f]{8,10}-[a-z0-9]{5}", pod[0])
    assert pod[1:] == ["1/1", "Running", "0", "AGE"]
    command = tutorial.command(f"kubectl get pod {POD_NAME} -o yaml", {POD_NAME: pod[0]})
    node = _check_printed(yaml.safe_load(kubectl(command)))

    wait_logged(log, "Successfully bound pod to node")
    log.stop()
    told = iter(log.log().splitlines())
    for wanted in STORY.replace("POD", pod[0]).replace("NODE", node).strip().splitlines():
        part = wanted.removesuffix("...")
        assert any(part in line for line in told), f"missing, or out of order: {wanted}"
    assert tutorial.left() == []


def _check_printed(found: dict[str, Any]) -> str:
    """Compare a printed pod with the tutorial's; return its node."""
    shown = yaml.safe_load(document("004", "printed-pod.yaml"))
    node: str = found["spec"]["nodeName"]
    assert node in {"node01", "node02"}
    for field in SAME:
        assert found["spec"][field] == shown["spec"][field], field
    container, wanted = found["spec"]["containers"][0], shown["spec"]["containers"][0]
    for field in wanted.keys() - {"volumeMounts"}:
        assert container[field] == wanted[field], field
    assert found["metadata"]["labels"].keys() == shown["metadata"]["labels"].keys()
    (owner,), (expected,) = (one["metadata"]["ownerReferences"] for one in (found, shown))
    for field in ("apiVersion", "blockOwnerDeletion", "controller", "kind"):
        assert owner[field] == expected[field]
    assert (found["status"]["phase"], found["status"]["qosClass"]) == ("Running", "BestEffort")
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    for one in shown["status"]["conditions"]:
        assert conditions[one["type"]] == one["status"]
    return node
