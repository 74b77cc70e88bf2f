"""A kubectl of an older release works on a local cluster, and shows what the current one shows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.kubectl import Kubectl, table
from tests.support.local_up import Up
from tools.older_kubectl.build import VERSION, find

DEPLOYMENT = "create deployment web --image=nginx --replicas=2"
# Commands whose output must be the same for both releases.
SHOWN = [
    "get nodes -o wide",
    "get pods -l app=web -o wide",
    "get deployments,replicasets,pods -A",
    "get all -A --show-labels",
    "get events --field-selector reason=Scheduled --sort-by=.metadata.name",
    "get pods -o jsonpath='{range .items[*]}{.metadata.name} {.spec.nodeName}{end}'",
    "get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName",
    "get deployment web -o yaml",
    "get --raw /readyz",
    "describe deployment web",
    "rollout history deployment web",
    "explain pod.spec.containers.resources",
    "explain deployment.spec.strategy --recursive",
    "logs deployment/web",
    "auth can-i create pods",
    "auth whoami",
]


@pytest.fixture
def older() -> Callable[[Up], Kubectl]:
    """Return a function that returns the older kubectl for a cluster."""
    program = find()
    if program is None:
        pytest.skip(f"kubectl {VERSION} was not built: `make older-kubectl` does")

    def on(cluster: Up) -> Kubectl:
        return Kubectl(program, cluster.kubeconfig, cluster.workplace)

    return on


def test_it_shows_what_the_present_one_shows(
    up: Callable[..., Up], older: Callable[[Up], Kubectl]
) -> None:
    cluster = up("--nodes=2")
    old = older(cluster)
    assert f"Client Version: {VERSION}" in old("version")
    assert "Server Version: v1.37.1" in old("version")
    assert old(DEPLOYMENT) == "deployment.apps/web created\n"
    assert "successfully rolled out" in old("rollout status deployment web --timeout=30s")
    old.until("get events --field-selector reason=Scheduled -o name", "event/web")
    for command in SHOWN:
        assert table(old(command)) == table(cluster.kubectl(command)), command


def test_it_changes_things(up: Callable[..., Up], older: Callable[[Up], Kubectl]) -> None:
    cluster = up("--nodes=2")
    old = older(cluster)
    manifest = cluster.workplace / "web.yaml"
    manifest.write_text(cluster.kubectl(f"{DEPLOYMENT} --dry-run=client -o yaml"))
    assert old("apply -f web.yaml") == "deployment.apps/web created\n"
    assert old("apply -f web.yaml") == "deployment.apps/web unchanged\n"
    changed = manifest.read_text().replace("replicas: 2", "replicas: 3")
    manifest.write_text(changed)
    differs = old.run("diff -f web.yaml")
    assert differs.returncode == 1
    assert "+  replicas: 3" in differs.stdout
    assert old("apply --server-side --force-conflicts -f web.yaml") == (
        "deployment.apps/web serverside-applied\n"
    )
    assert "successfully rolled out" in old("rollout status deployment web --timeout=30s")
    assert old("scale deployment web --replicas=1") == "deployment.apps/web scaled\n"
    old("set image deployment web nginx=nginx:2")
    assert "successfully rolled out" in old("rollout status deployment web --timeout=30s")
    assert old("rollout undo deployment web") == "deployment.apps/web rolled back\n"
    assert old("label node node-0 a=b") == "node/node-0 labeled\n"
    assert old("taint node node-0 a=b:NoSchedule") == "node/node-0 tainted\n"
    assert "node/node-1 drained" in old("drain node-1")
    assert old("uncordon node-1") == "node/node-1 uncordoned\n"
    assert "condition met" in old("wait --for=condition=Available deployment/web --timeout=30s")
    assert old("delete deployment web") == 'deployment.apps "web" deleted\n'
    assert "NotFound" in old.refused("get deployment web")
