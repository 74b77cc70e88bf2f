"""Schedulers as pods: their failures are shown as in a real cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.kubectl import table
from tests.support.local_up import Up

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
  - schedulerName: mine
    plugins: {filter: {enabled: [{name: Picky}]}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: mine, namespace: kube-system}
spec:
  terminationGracePeriodSeconds: 5
  containers:
    - name: scheduler
      image: registry.example/mooring:v1
      command: [kube-scheduler]
      args: [--config=/etc/kubernetes/scheduler-config.yaml]
      volumeMounts: [{name: config, mountPath: /etc/kubernetes}]
  volumes: [{name: config, configMap: {name: mine}}]
"""
NOT_REGISTERED = (
    "/etc/kubernetes/scheduler-config.yaml:6:41: profiles[0].plugins.filter.enabled[0].name: "
    r"plugin \"Picky\" is not registered"
)


def test_a_scheduler_with_a_bad_configuration(up: Callable[..., Up]) -> None:
    cluster = up("--nodes=1", "--image=mooring")
    kubectl = cluster.kubectl
    (cluster.workplace / "pod.yaml").write_text(POD)
    (cluster.workplace / "scheduler-config.yaml").write_text(CONFIG)

    # First the scheduler's ConfigMap is missing.
    kubectl("apply -f pod.yaml")
    (shown,) = table(kubectl.until("get pods -n kube-system", "ContainerCreating"))[1:]
    assert shown == ["mine", "0/1", "ContainerCreating", "0", "AGE"]
    described = kubectl.until("describe pod mine -n kube-system", "FailedMount")
    assert 'MountVolume.SetUp failed for volume "config" : configmap "mine" not found' in described
    assert kubectl.refused("logs mine -n kube-system") == (
        'Error from server (BadRequest): container "scheduler" in pod "mine" is waiting to start: '
        "ContainerCreating\n"
    )

    # Then the configuration names an unknown plugin.
    kubectl("create configmap mine --from-file=scheduler-config.yaml -n kube-system")
    kubectl.until("get pods -n kube-system", "CrashLoopBackOff", 40)
    assert NOT_REGISTERED in kubectl("logs mine -n kube-system")
    assert NOT_REGISTERED in kubectl("logs mine -n kube-system --previous")
    assert kubectl("logs mine -n kube-system --tail=1").count("\n") == 1
    described = kubectl("describe pod mine -n kube-system")
    for part in ("Reason:       CrashLoopBackOff", "Exit Code:    1", "Restart Count:  1"):
        assert part in described
    assert "Back-off restarting failed container scheduler in pod mine_kube-system(" in described

    # With a correct configuration it runs, and ends when it is deleted.
    good = CONFIG.replace("Picky", "NodeName")
    (cluster.workplace / "scheduler-config.yaml").write_text(good)
    kubectl("delete pod mine -n kube-system")
    kubectl("delete configmap mine -n kube-system")
    kubectl("create configmap mine --from-file=scheduler-config.yaml -n kube-system")
    kubectl("apply -f pod.yaml")
    kubectl.until("get pods -n kube-system", "Running")
    # Its account has no rights; the log names the missing ones.
    kubectl.until(
        "logs mine -n kube-system",
        r"User \"system:serviceaccount:kube-system:default\" cannot list resource \"nodes\"",
    )
    assert kubectl("delete pod mine -n kube-system") == (
        'pod "mine" deleted from kube-system namespace\n'
    )
    assert kubectl.refused("logs mine -n kube-system") == (
        'error: error from server (NotFound): pods "mine" not found in namespace "kube-system"\n'
    )


PLUGIN = """\
from mooring import Plugin, Status


class Picky(Plugin):
    def filter(self, state, pod, node):
        if node.name != "node-1":
            return Status.unschedulable("node(s) were not picked")
"""


def test_a_plugin_of_the_readers_own_in_an_image(up: Callable[..., Up], tmp_path: Path) -> None:
    (tmp_path / "picky.py").write_text(PLUGIN)
    cluster = up("--nodes=3", f"--image=mine={tmp_path}/picky.py:Picky")
    kubectl = cluster.kubectl
    for name, text in (
        ("pod.yaml", POD.replace("registry.example/mooring:v1", "mine:latest")),
        ("scheduler-config.yaml", CONFIG),
    ):
        (cluster.workplace / name).write_text(text)
    # kube-scheduler has both roles.
    for role in ("kube-scheduler", "volume-scheduler"):
        kubectl(
            f"create clusterrolebinding {role} --clusterrole=system:{role} "
            "--serviceaccount=kube-system:default"
        )
    kubectl("create configmap mine --from-file=scheduler-config.yaml -n kube-system")
    kubectl("apply -f pod.yaml")
    override = '{"spec": {"schedulerName": "mine"}}'
    kubectl(f"run placed --image=nginx --overrides='{override}'")
    assert "node-1" in kubectl.until("get pod placed -o wide", "Running")
