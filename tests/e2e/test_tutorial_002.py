"""Tutorial 002: several profiles, a webhook for every verb, and a Policy with the old flags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.support.kubectl import table
from tests.support.local_up import Up, wait_logged
from tests.support.processes import free_port
from tests.support.tutorials import (
    RUN_GANGS,
    RUN_SIMPLEST,
    Tutorial,
    document,
    without_placeholders,
)
from tests.support.waiting import eventually
from tests.support.webhook import start_webhook, with_port

#: Command lines of the tutorial.
WITH_POLICY = """\
kube-scheduler
    --port=10261
    --leader-elect=true
    --lock-object-namespace=pingcap
    --lock-object-name=my-scheduler
    --scheduler-name=my-scheduler
    --policy-configmap=my-scheduler-policy
    --policy-configmap-namespace=pingcap"""


def nodes_of(cluster: Up, app: str, count: int) -> Counter[str]:
    """Wait until all pods of an app have a node; return the number of pods per node."""
    command = f"get pods -l app={app} -o jsonpath='{{.items[*].spec.nodeName}}'"
    names = eventually(
        lambda: (found := cluster.kubectl(command).split()) and len(found) == count and found,
        f"{count} pods of {app} have nodes",
    )
    return Counter(names or [])


def test_two_profiles_run_in_one_process(up: Callable[..., Up], tmp_path: Path) -> None:
    Tutorial("002").write(tmp_path, "two-profiles.yaml")
    config = f"--config={tmp_path}/two-profiles.yaml"
    cluster = up("-f", "cluster.yaml", config, example="profiles")
    kubectl = cluster.kubectl
    kubectl("apply -f jobs.yaml")

    # The scores of one scheduler leave no choice; for the other all nodes are equal.
    assert nodes_of(cluster, "scored", 20) == {"roomy": 20}
    assert set(nodes_of(cluster, "unscored", 20)) == {"roomy", "small"}

    columns = "custom-columns=REASON:.reason,FROM:.reportingComponent --no-headers"
    reported = Counter(
        kubectl(f"get events --field-selector reason=Scheduled -o {columns}").split()
    )
    assert reported == {"Scheduled": 40, "default-scheduler": 20, "no-scoring-scheduler": 20}


CUSTOM_PLUGINS = """
from mooring import Plugin

class MyCustomPluginA(Plugin):
    def score(self, state, pod, node):
        return 100 if node.name == "small" else 0

class MyCustomPluginB(Plugin):
    def score(self, state, pod, node):
        return 100 if node.name == "roomy" else 0
"""


def test_weights_and_plugins_of_a_profile(up: Callable[..., Up], tmp_path: Path) -> None:
    (tmp_path / "plugins.py").write_text(CUSTOM_PLUGINS)
    Tutorial("002").write(tmp_path, "custom-plugins.yaml")
    plugins = [f"--plugin={tmp_path}/plugins.py:MyCustomPlugin{letter}" for letter in "AB"]
    config = f"--config={tmp_path}/custom-plugins.yaml"
    cluster = up("-f", "cluster.yaml", config, *plugins, example="profiles")
    cluster.kubectl("run web --image=nginx")
    # A's score counts twice. A profile without a name is that of the default scheduler.
    described = cluster.kubectl.until("describe pod web", "Scheduled")
    assert "default-scheduler  Successfully assigned default/web to small" in described


def use_port(cluster: Up) -> int:
    """Write a free port into the files of the workplace that name the webhook's; return it."""
    port = free_port()
    for file in (cluster.workplace / "scheduler-config.yaml", cluster.workplace / "policy.cfg"):
        file.write_text(with_port(file.read_text(), port))
    return port


def test_a_webhook_filters_prioritizes_preempts_and_binds(
    up: Callable[..., Up], kubectl: Path
) -> None:
    cluster = up("-f", "cluster.yaml", example="extender")
    webhook = start_webhook(cluster, kubectl, use_port(cluster))
    scheduler = cluster.run("--config=scheduler-config.yaml")
    wait_logged(scheduler, '"Successfully acquired lease" lock="kube-system/my-scheduler"')

    cluster.kubectl("apply -f pod.yaml")
    (pod,) = table(cluster.kubectl.until("get pods -o wide", "Running"))[1:]
    assert "cheap" in pod
    assert webhook.log().splitlines() == [
        "filter_nodes nginx: passed ['cheap', 'dear'], refused ['closed']",
        "prioritize nginx: cheap 9, dear 1",
        "bind nginx: done",
    ]
    described = cluster.kubectl.until("describe pod nginx", "Scheduled")
    assert "my-scheduler  Successfully assigned default/nginx to cheap" in described

    # The other scheduler does not call the webhook, and does not interfere.
    cluster.kubectl("delete pod nginx --now")
    cluster.kubectl("run other --image=nginx")
    described = cluster.kubectl.until("describe pod other", "Scheduled")
    assert "default-scheduler  Successfully assigned default/other to " in described
    assert "other" not in webhook.log()
    cluster.kubectl("delete pod other --now")

    # Two pods fill the nodes; a third is urgent, and the webhook spares one of the two.
    cluster.kubectl("apply -f filling.yaml")
    cluster.kubectl("wait --for=condition=PodScheduled pod/kept pod/moved")
    cluster.kubectl("apply -f urgent.yaml")
    cluster.kubectl("wait --for=condition=PodScheduled pod/urgent")
    assert "preempt urgent: may make room on ['dear']" in webhook.log().splitlines()
    placed = table(cluster.kubectl.until("get pods -o wide", "urgent"))[1:]
    assert [(row[0], row[6]) for row in placed] == [("kept", "cheap"), ("urgent", "dear")]
    preempted = cluster.kubectl("get events --field-selector reason=Preempted")
    assert "pod/moved" in preempted

    # If every node is closed, the webhook's reason is shown.
    cluster.kubectl("label nodes --all --overwrite example.com/maintenance=true")
    cluster.kubectl("apply -f pod.yaml")
    described = cluster.kubectl.until("describe pod nginx", "FailedScheduling")
    assert "0/3 nodes are available: 3 node(s) were under maintenance." in described


def test_a_policy_in_a_file_with_the_old_flags(up: Callable[..., Up], kubectl: Path) -> None:
    cluster, tutorial = up("-f", "cluster.yaml", example="extender"), Tutorial("002")
    tutorial.write(cluster.workplace, "policy.cfg")
    webhook = start_webhook(cluster, kubectl, use_port(cluster))
    cluster.kubectl("create namespace pingcap")
    port = f"--port={free_port()}"
    flags = tutorial.command(WITH_POLICY, {"--port=10261": port}).split()[1:]
    file = tutorial.command("--policy-config-file $filename", {"$filename": "policy.cfg"})
    name = tutorial.command("--scheduler-name")
    lock = [flag for flag in flags if flag.startswith(("--leader", "--lock", name))]
    scheduler = cluster.run(*file.split(), *lock)
    wait_logged(scheduler, '"Successfully acquired lease" lock="pingcap/my-scheduler"')
    log = scheduler.log()
    assert "Flag --policy-config-file has been deprecated" in log
    assert "Flag --scheduler-name has been deprecated" in log
    assert "NodePreferAvoidPods no longer exists and is left out" in log

    cluster.kubectl("apply -f pod.yaml")
    described = cluster.kubectl.until("describe pod nginx", "Scheduled")
    assert "my-scheduler  Successfully assigned default/nginx to " in described
    # The Policy uses the webhook to filter, not to prioritize or bind.
    assert webhook.log().splitlines() == [
        "filter_nodes nginx: passed ['cheap', 'dear'], refused ['closed']"
    ]
    assert scheduler.stop() == 0

    # The same Policy from a ConfigMap, under its traditional key.
    cluster.kubectl("delete pod nginx --now")
    cluster.kubectl("create configmap my-scheduler-policy -n pingcap --from-file=policy.cfg")
    again = cluster.run(*flags, name="again")
    wait_logged(again, '"Successfully acquired lease" lock="pingcap/my-scheduler"')
    cluster.kubectl("apply -f pod.yaml")
    cluster.kubectl("wait --for=condition=PodScheduled pod/nginx")
    assert len(webhook.log().splitlines()) == 2
    holder = "jsonpath='{.spec.holderIdentity}'"
    assert cluster.kubectl(f"get lease my-scheduler -n pingcap -o {holder}")

    # Under another name, with each value as an argument of its own.
    put = {"$configmap": "my-scheduler-policy", "$ns": "pingcap"}
    config_map = tutorial.command(
        "--policy-configmap $configmap --policy-configmap-namespace $ns", put
    )
    named = tutorial.command("kube-scheduler --scheduler-name <name>", {"<name>": "third"})
    flags = [*named.split()[1:], *config_map.split(), "--leader-elect=false"]
    cluster.run(*flags, name="third")
    cluster.kubectl(
        """run other --image=nginx --overrides='{"spec": {"schedulerName": "third"}}'"""
    )
    described = cluster.kubectl.until("describe pod other", "Scheduled")
    assert re.search(r"third +Successfully assigned default/other to ", described)
    assert tutorial.left() == [RUN_SIMPLEST, RUN_GANGS]


def test_the_file_of_the_extender_filters_and_prioritizes(
    up: Callable[..., Up], kubectl: Path
) -> None:
    cluster = up("-f", "cluster.yaml", example="extender")
    config = without_placeholders(document("002", "extender.yaml"))
    (cluster.workplace / "scheduler-config.yaml").write_text(config)
    webhook = start_webhook(cluster, kubectl, use_port(cluster))
    cluster.kubectl("create namespace namespace")
    scheduler = cluster.run("--config=scheduler-config.yaml")
    wait_logged(scheduler, '"Successfully acquired lease" lock="namespace/my-scheduler"')
    cluster.kubectl("apply -f pod.yaml")
    cluster.kubectl("wait --for=condition=PodScheduled pod/nginx")
    assert webhook.log().splitlines() == [
        "filter_nodes nginx: passed ['cheap', 'dear'], refused ['closed']",
        "prioritize nginx: cheap 9, dear 1",
    ]
