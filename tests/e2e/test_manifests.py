"""The output of `mooring manifests` on the local cluster: a plugin without its own image."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.local_up import Up

MOORING = Path(sys.executable).with_name("mooring")
PLUGIN = """\
from mooring import Plugin, Status


class OnlyGpuNodes(Plugin):
    def filter(self, state, pod, node):
        if node.labels.get("gpu") != "{wanted}":
            return Status.unschedulable("node(s) had no GPU")
"""


def print_manifests(cluster: Up, wanted: str) -> None:
    (cluster.workplace / "rules.py").write_text(PLUGIN.format(wanted=wanted))
    with (cluster.workplace / "all.yaml").open("w") as output:
        subprocess.run(
            [MOORING, "manifests", "--name=gpu-scheduler", "--plugin=rules.py"],
            cwd=cluster.workplace,
            stdout=output,
            check=True,
            timeout=60,
        )


def test_a_plugin_runs_from_a_config_map_and_rolls_when_it_changes(up: Callable[..., Up]) -> None:
    cluster = up("--nodes=2", "--image=mooring")
    kubectl = cluster.kubectl
    kubectl("label node node-1 gpu=true")
    print_manifests(cluster, "true")
    kubectl("apply -f all.yaml")
    kubectl("-n kube-system rollout status deployment/gpu-scheduler --timeout=60s")

    (cluster.workplace / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: first}\n"
        "spec: {schedulerName: gpu-scheduler, containers: [{name: c, image: nginx}]}\n"
    )
    kubectl("apply -f pod.yaml")
    assert "node-1" in kubectl.until("get pod first -o wide", "Running")

    kubectl("label node node-0 gpu=big")
    print_manifests(cluster, "big")
    assert "deployment.apps/gpu-scheduler configured" in kubectl("apply -f all.yaml")
    kubectl("-n kube-system rollout status deployment/gpu-scheduler --timeout=60s")
    second = (cluster.workplace / "pod.yaml").read_text().replace("first", "second")
    (cluster.workplace / "pod.yaml").write_text(second)
    kubectl("apply -f pod.yaml")
    assert "node-0" in kubectl.until("get pod second -o wide", "Running")
