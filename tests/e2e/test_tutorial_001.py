"""Tutorial 001: PreferNode in both versions, with its kubeconfig in a Secret."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.kubectl import table
from tests.support.local_up import Up
from tests.support.tutorials import Tutorial

FILTER = """      filter:
        enabled:
          - name: PreferNode\x20
"""
CREATE_CONFIG_MAP = r"""
kubectl create configmap scheduler-config \
  --from-file=scheduler-config.yaml=scheduler-config.yaml \
  -n kube-system
""".strip()
CREATE_SECRET = r"""
kubectl create secret generic scheduler-kubeconfig \
  --from-file=kubeconfig=scheduler.kubeconfig \
  -n kube-system
""".strip()
WHOLE = """\
prefernode filter pod default/test-pod:minikube
Node minikube passed all filters for pod default/test-pod
prefernode filter pod default/test-pod:minikube-m02
Node minikube-m02 passed all filters for pod default/test-pod
prefernode filter pod default/test-pod:minikube-m03
Node minikube-m03 passed all filters for pod default/test-pod
Scoring pod default/test-pod on node minikube
Score for pod default/test-pod on node minikube: 80 (CPU: 40, Memory: 40, Labels: 0)
Scoring pod default/test-pod on node minikube-m02
Score for pod default/test-pod on node minikube-m02: 80 (CPU: 40, Memory: 40, Labels: 0)
Scoring pod default/test-pod on node minikube-m03
Score for pod default/test-pod on node minikube-m03: 90 (CPU: 40, Memory: 40, Labels: 10)
Score range for pod default/test-pod: [80, 90]
Normalized score for node minikube:0
Normalized score for node minikube-m02:0
Normalized score for node minikube-m03:100
Final scores for pod default/test-pod
@@@ 1. Node minikube-m03: 100
@@@ 2. Node minikube: 0
@@@ 3. Node minikube-m02: 0
"""
SHORT = """\
Scoring pod test-pod on node minikube
Scoring pod test-pod on node minikube-m02
Scoring pod test-pod on node minikube-m03
"""


@pytest.mark.parametrize(
    ("plugin", "file", "filters", "told"),
    [
        pytest.param("PreferNode", "prefer_node.py", True, WHOLE, id="filter and score"),
        pytest.param("PreferNodeScore", "prefer_node_score.py", False, SHORT, id="score alone"),
    ],
)
def test_the_pod_lands_on_the_preferred_node(
    up: Callable[..., Up], plugin: str, file: str, filters: bool, told: str
) -> None:
    image = f"--image=custom-scheduler:v1.0=mooring.contrib.samples:{plugin}"
    cluster = up("-f", "cluster.yaml", image, example="prefer-node")
    kubectl, tutorial = cluster.kubectl, Tutorial("001")
    tutorial.write(cluster.workplace, "scheduler-config.yaml", "rbac.yaml")
    tutorial.write(cluster.workplace, "custom-scheduler.yaml", "test-pod.yaml")
    if not filters:
        config = cluster.workplace / "scheduler-config.yaml"
        assert FILTER in config.read_text()
        config.write_text(config.read_text().replace(FILTER, ""))
    _deploy(cluster, tutorial)

    assert kubectl("apply -f test-pod.yaml") == "pod/test-pod created\n"
    wide = tutorial.command("kubectl get pod -o wide")
    (pod,) = table(kubectl.until(wide, "Running"))[1:]
    assert pod[:3] == ["test-pod", "1/1", "Running"]
    assert "minikube-m03" in pod

    lines = told.splitlines()
    select = "-n kube-system -l component=custom-scheduler"
    whole = kubectl.until(f"logs {select} --tail=-1", lines[-1])
    found = [line for line in whole.splitlines() if f" {file}:" in line]
    assert [line.partition("] ")[2] for line in found] == lines
    assert tutorial.left() == []


def _deploy(cluster: Up, tutorial: Tutorial) -> None:
    kubectl = cluster.kubectl
    view = tutorial.command("kubectl config view --flatten --minify > scheduler.kubeconfig")
    command, _, file = view.partition(" > ")
    flat = kubectl(command)
    (cluster.workplace / file).write_text(flat)
    assert "client-key-data" in flat
    created = kubectl(tutorial.command(CREATE_CONFIG_MAP))
    assert created == "configmap/scheduler-config created\n"
    created = kubectl(tutorial.command(CREATE_SECRET))
    assert created == "secret/scheduler-kubeconfig created\n"
    kubectl("apply -f rbac.yaml")
    assert kubectl("apply -f custom-scheduler.yaml") == "deployment.apps/custom-scheduler created\n"
    kubectl("rollout status deployment/custom-scheduler -n kube-system --timeout=30s")
