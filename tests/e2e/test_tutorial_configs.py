"""Every configuration file of the tutorials, in the scheduler of `mooring up`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kubectl import Kubectl
from tests.support.local_up import Up, wait_logged
from tests.support.processes import Process, free_port
from tests.support.tutorials import (
    FOLDER,
    RUN_GANGS,
    RUN_SIMPLEST,
    Tutorial,
    document,
    mounted_config,
    without_placeholders,
)
from tests.support.webhook import start_webhook, with_port

FILTERED = "filter_nodes nginx: passed ['cheap', 'dear'], refused ['closed']"

GROUP = """\
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 3}
"""
TOO_FEW = "cannot find enough sibling pods, current pods number: 2, minMember of group: 3"
REJECTED = (
    "PodGroup default/train gets rejected due to Pod train-2 is unschedulable even after PostFilter"
)


def member(name: str, more: str = "") -> str:
    """Return the manifest of a pod of the group, with more fields of its spec."""
    return f"""\
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{scheduling.x-k8s.io/pod-group: train}}}}
spec:
  containers: [{{name: worker, image: train}}]
  {more}
"""


def not_read(file: Path, kubeconfig: str) -> str:
    """Return the warning of `mooring up` about a file's kubeconfig."""
    return (
        f'warning: {file}: clientConnection.kubeconfig: "{kubeconfig}" is not read: the scheduler '
        "of a local cluster uses that cluster"
    )


def place(kubectl: Kubectl, pod: str) -> tuple[str, str]:
    """Wait until a pod is scheduled; return the scheduler and the node."""
    described = kubectl.until(f"describe pod {pod}", "Successfully assigned")
    found = re.search(r"(\S+) +Successfully assigned default/\S+ to (\S+)", described)
    assert found is not None
    return found.group(1), found.group(2)


def test_tutorial_000_places_pods_by_label(up: Callable[..., Up], tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(mounted_config("000", "sample-scheduler.yaml"))
    plugin = "--plugin=mooring.contrib.samples:Sample"
    cluster = up("-f", "cluster.yaml", f"--config={config}", plugin, example="sample")
    kubectl, tutorial = cluster.kubectl, Tutorial("000")
    tutorial.write(cluster.workplace, "test-scheduler.yaml")
    kubectl("apply -f test-scheduler.yaml")
    pending = "describe pods -l app=test-scheduler --show-events"
    described = kubectl.until(pending, "FailedScheduling")
    assert "0/4 nodes are available: 1 Node: k8s, 1 Node: node1, " in described
    kubectl("label nodes node1 cpu=true")
    pod = kubectl("get pods -l app=test-scheduler -o jsonpath={.items[*].metadata.name}")
    assert place(kubectl, pod) == ("sample-scheduler", "node1")


@pytest.mark.parametrize("plugin", ["PreferNode", "PreferNodeScore"])
def test_tutorial_001_places_the_pod_on_the_preferred_node(
    up: Callable[..., Up], tmp_path: Path, plugin: str
) -> None:
    config = tmp_path / "config.yaml"
    text = document("001", "scheduler-config.yaml")
    if plugin == "PreferNodeScore":
        # The text says so: the short plugin needs no filter.
        text = re.sub(r"      filter:\n.*\n.*\n", "", text)
        assert "filter" not in text
    config.write_text(text)
    flag = f"--plugin=mooring.contrib.samples:{plugin}"
    cluster = up("-f", "cluster.yaml", f"--config={config}", flag, example="prefer-node")
    assert not_read(config, "/etc/kubernetes/kubeconfig") in cluster.process.log().splitlines()
    Tutorial("001").write(cluster.workplace, "test-pod.yaml")
    cluster.kubectl("apply -f test-pod.yaml")
    assert place(cluster.kubectl, "test-pod") == ("custom-scheduler", "minikube-m03")


def test_tutorial_003_places_the_pod_on_the_node_with_the_best_name(up: Callable[..., Up]) -> None:
    # The text does not show its configuration: the example's has what it tells of it.
    flags = ("--config=scheduler-config.yaml", "--plugin=mooring.contrib.samples:NameScore")
    cluster = up("-f", "cluster.yaml", *flags, example="name-score")
    Tutorial("003").write(cluster.workplace, "busybox.yaml")
    cluster.kubectl("apply -f busybox.yaml")
    placed = place(cluster.kubectl, "busybox-test-scheduler")
    assert placed == ("namescore-scheduler", "k8s-node02")


def test_tutorial_004_calls_the_plugin_with_its_arguments(
    up: Callable[..., Up], tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(mounted_config("004", "sample-scheduler.yaml"))
    plugin = "--plugin=mooring.contrib.samples:SamplePlugin"
    flags = (f"--config={config}", plugin, "-v=3")
    cluster = up("-f", "cluster.yaml", *flags, example="sample-plugin")
    kubectl = cluster.kubectl
    Tutorial("004").write(cluster.workplace, "test-scheduler.yaml")
    kubectl("apply -f test-scheduler.yaml")
    wait_logged(cluster.process, "prebind node info: Node(metadata=ObjectMeta(name=")
    pod = kubectl("get pods -l app=test-scheduler -o jsonpath={.items[*].metadata.name}")
    scheduler, node = place(kubectl, pod)
    assert scheduler == "sample-scheduler"
    assert node in {"node01", "node02"}
    log = cluster.process.log()
    told = "favorite_color='#326CE5', favorite_number=7, thanks_to='tanjunchen'"
    for line in (told, f"prefilter pod: {pod}", f"filter pod: {pod}, node: {node}"):
        assert line in log


@pytest.mark.parametrize(
    ("name", "scheduler", "calls"),
    [
        pytest.param(
            "extender.yaml",
            "my-scheduler",
            [FILTERED, "prioritize nginx: cheap 9, dear 1"],
            id="extender",
        ),
        pytest.param("policy.cfg", "default-scheduler", [FILTERED], id="policy"),
    ],
)
def test_tutorial_002_calls_the_webhook(
    up: Callable[..., Up],
    kubectl: Path,
    tmp_path: Path,
    name: str,
    scheduler: str,
    calls: list[str],
) -> None:
    port, config = free_port(), tmp_path / name
    config.write_text(with_port(without_placeholders(document("002", name)), port))
    cluster = up("-f", "cluster.yaml", f"--config={config}", example="extender")
    webhook = start_webhook(cluster, kubectl, port)
    override = f"""--overrides='{{"spec": {{"schedulerName": "{scheduler}"}}}}'"""
    cluster.kubectl(f"run nginx --image=nginx {override}")
    assert place(cluster.kubectl, "nginx")[0] == scheduler
    assert webhook.log().splitlines() == calls


def run_config(cluster: Up, command: str, name: str, placeholder: str) -> Process:
    """Run a command line of the tutorial with a file of its own, and the cluster's kubeconfig."""
    text = document("002", name)
    assert placeholder in text
    (cluster.workplace / name).write_text(text.replace(placeholder, str(cluster.kubeconfig)))
    variable = "$filename" if "$filename" in command else "$file"
    return cluster.run(*Tutorial("002").command(command, {variable: name}).split()[1:])


@pytest.mark.parametrize("in_up", [True, False], ids=["up", "run"])
def test_tutorial_002_schedules_by_default(up: Callable[..., Up], in_up: bool) -> None:
    path = "/etc/srv/kubernetes/kube-scheduler/kubeconfig"
    if in_up:
        file = FOLDER / "002" / "simplest.yaml"
        cluster = up("--nodes=1", f"--config={file}")
        assert not_read(file, path) in cluster.process.log().splitlines()
    else:
        cluster = up("--nodes=1", "--no-scheduler")
        run_config(cluster, RUN_SIMPLEST, "simplest.yaml", path)
    cluster.kubectl("run web --image=nginx")
    assert place(cluster.kubectl, "web") == ("default-scheduler", "node-0")


@pytest.mark.parametrize("in_up", [True, False], ids=["up", "run"])
def test_tutorial_002_makes_a_group_wait_for_its_third_member(
    up: Callable[..., Up], in_up: bool
) -> None:
    path = "REPLACE_ME_WITH_KUBE_CONFIG_PATH"
    if in_up:
        file = FOLDER / "002" / "coscheduling.yaml"
        cluster = up("--nodes=3", f"--config={file}")
        log = cluster.process
        assert not_read(file, path) in log.log().splitlines()
    else:
        cluster = up("--nodes=3", "--no-scheduler", "--crds=scheduling")
        log = run_config(cluster, RUN_GANGS, "coscheduling.yaml", path)
    wait_logged(log, "Coscheduling no longer extends postBind, and is left out there")
    wait_logged(log, "podGroupBackoffSeconds takes its place")

    kubectl = cluster.kubectl
    kubectl("apply -f -", stdin=GROUP + member("train-0") + member("train-1"))
    kubectl.until("describe pod train-1", TOO_FEW)
    # The third is there, but fits on no node: none of them keeps its place.
    kubectl("apply -f -", stdin=member("train-2", "nodeSelector: {disk: ssd}"))
    kubectl.until("describe pod train-2", REJECTED)
    assert nodes_of_all(kubectl) == []
    kubectl("label node node-1 disk=ssd")
    kubectl("wait --for=condition=PodScheduled pod/train-0 pod/train-1 pod/train-2")
    assert len(nodes_of_all(kubectl)) == 3
    # The controller keeps the status of the group, which the plugin kept at PostBind.
    kubectl.until("get podgroup train -o jsonpath={.status.phase}", "Running")


def nodes_of_all(kubectl: Kubectl) -> list[str]:
    """Return the names of the nodes that pods have."""
    return kubectl("get pods -o jsonpath={.items[*].spec.nodeName}").split()
