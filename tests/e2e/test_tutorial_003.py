"""Tutorial 003: a plugin that scores by the node's name, run by hand with a v1beta3 file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from tests.support.kubectl import table
from tests.support.local_up import Up, wait_logged
from tests.support.tutorials import Tutorial, document

FORBIDDEN = (
    r"leases.coordination.k8s.io \"my-scheduler\" is forbidden: "
    r"User \"system:serviceaccount:kube-system:my-scheduler\" cannot get resource \"leases\" "
    r"in API group \"coordination.k8s.io\" in the namespace \"kube-system\""
)
NAMES = ["kube-scheduler", "my-scheduler"]
# What the reader types into the editor: the scheduler's name below each kube-scheduler.
EDIT = r"""#!/bin/sh
sed -i 's/^\( *\)- kube-scheduler$/&\n\1- my-scheduler/' "$1"
"""


def test_the_pod_lands_on_the_node_with_the_best_name(up: Callable[..., Up]) -> None:
    cluster = up("-f", "cluster.yaml", example="name-score")
    kubectl, tutorial = cluster.kubectl, Tutorial("003")
    tutorial.write(cluster.workplace, "busybox.yaml")
    assert table(kubectl("get nodes"))[1:] == [
        [name, "Ready", "<none>", "AGE", "v1.37.1"]
        for name in ("k8s-master", "k8s-node01", "k8s-node02")
    ]

    # The scheduler has kube-scheduler's rights under another user: in 1.36 the user kube-scheduler
    # itself may use any lease of kube-system, without the edit below.
    kubectl("apply -f rights.yaml")
    token = kubectl("create token my-scheduler -n kube-system")
    scheduler_conf = cluster.workplace / "scheduler.conf"
    scheduler_conf.write_text(kubectl("config view --flatten --minify"))
    kubectl(f"--kubeconfig scheduler.conf config set-credentials my-scheduler --token={token}")
    kubectl("--kubeconfig scheduler.conf config set-context --current --user=my-scheduler")
    scheduler = cluster.run(
        "--config=scheduler-config.yaml",
        "--plugin=mooring.contrib.samples:NameScore",
        kubeconfig=scheduler_conf,
    )
    line = wait_logged(scheduler, "Error retrieving lease lock")
    assert FORBIDDEN in line
    assert 'lock="kube-system/my-scheduler"' in line

    editor = cluster.workplace / "editor"
    editor.write_text(EDIT)
    editor.chmod(0o700)
    kubectl.environment["KUBE_EDITOR"] = str(editor)
    edited = kubectl(tutorial.command("kubectl edit clusterrole system:kube-scheduler"))
    assert edited == "clusterrole.rbac.authorization.k8s.io/system:kube-scheduler edited\n"
    # The tutorial shows the rules of leases and of endpoints, which kube-scheduler no longer uses.
    shown = re.findall(r"resourceNames:\n((?: +- .*\n)+)", document("003", "clusterrole.yaml"))
    assert [re.findall(r"- (\S+)", names) for names in shown] == [NAMES, NAMES]
    path = "jsonpath='{.rules[?(@.resourceNames)].resourceNames}'"
    found = kubectl(f"get clusterrole system:kube-scheduler -o {path}")
    assert json.loads(found) == NAMES
    wait_logged(scheduler, '"Successfully acquired lease" lock="kube-system/my-scheduler"')

    kubectl("apply -f busybox.yaml")
    printed = kubectl.until("get pods -o wide", "Running")
    (pod,) = table(printed)[1:]
    assert pod[:3] == ["busybox-test-scheduler", "1/1", "Running"]
    assert "k8s-node02" in pod
    described = kubectl.until("describe pod busybox-test-scheduler", "Scheduled")
    assert (
        "namescore-scheduler  Successfully assigned default/busybox-test-scheduler to k8s-node02"
    ) in described
    assert scheduler.stop() == 0
    assert tutorial.left() == []
