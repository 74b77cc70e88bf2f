"""The manifests of an extender on an API server with RBAC: their rights are enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.deployed import Deployed, manifests, rights_of
from tests.extender.extender_scenes import body
from tests.support.api import Api
from tests.support.cluster import Cluster
from tests.support.control_plane import ControlPlane, GivenCluster
from tests.support.extenders import ExtenderProgram, extender

PLUGIN = '''
from mooring import Plugin, Status
from mooring.api import StorageClass


class Rules(Plugin):
    """Refuse nodes without a storage class of their name, and bind pods."""

    def start(self):
        self._classes = self.handle.lister(StorageClass)

    def filter(self, state, pod, node):
        if self._classes.get(node.name) is None:
            return Status.unschedulable("node(s) had no storage class")

    async def bind(self, state, pod, node_name):
        await self.handle.client.bind(pod, node_name)
'''


@pytest.fixture(scope="module")
def deployed(
    control_plane: ControlPlane | GivenCluster,
    kubectl: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    """Give an extender's objects, applied by kubectl."""
    if isinstance(control_plane, GivenCluster):
        pytest.skip("runs as a user that only a cluster of its own knows")
    folder = tmp_path_factory.mktemp("deployed")
    (folder / "rules.py").write_text(PLUGIN)
    found = manifests("--extender", "--plugin", str(folder / "rules.py"))
    with Api(control_plane.access) as api:
        deployed = Deployed(control_plane, kubectl, folder, api, found)
        deployed.kubectl("apply", "-f", "-")
        yield deployed
        deployed.kubectl("delete", "--wait=false", "-f", "-")


@pytest.fixture(scope="module")
def served(
    deployed: Deployed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ExtenderProgram]:
    """Give the extender, which has the account of the manifests."""
    folder = tmp_path_factory.mktemp("extender")
    account = deployed.plane.kubeconfig(deployed.user)
    plugin = f"--plugin={folder}/plugins.py"
    with extender(folder, PLUGIN, plugin, kubeconfig=account) as program:
        yield program


def test_the_server_takes_everything(deployed: Deployed) -> None:
    said = deployed.kubectl("apply", "-f", "-").splitlines()
    assert len(said) == len(deployed.objects)
    service = deployed.api.get("Service", deployed.name, deployed.namespace)
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, "https")
    secret = deployed.api.get("Secret", f"{deployed.name}-tls", deployed.namespace)
    assert secret["type"] == "kubernetes.io/tls"


def test_nothing_but_binds_and_events_is_written(deployed: Deployed) -> None:
    rights = rights_of(deployed.find("ClusterRole")["rules"])
    written = {
        (right.resource, right.verb)
        for right in rights
        if right.verb not in ("get", "list", "watch")
    }
    assert written == {("pods/binding", "create"), ("events", "create"), ("events", "patch")}


def test_the_rights_are_enough(served: ExtenderProgram, cluster: Cluster) -> None:
    for name in ("node-1", "node-2"):
        cluster.create(
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {}}
        )
    made = cluster.create(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "node-2"},
            "provisioner": "example.com/none",
        }
    )
    assert made["metadata"]["name"] == "node-2"
    pod = cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "main", "image": "pause"}]},
        }
    )
    nodes = ["node-1", "node-2"]

    def passing() -> list[str]:
        found: list[str] = served.post("/filter", body(Pod=pod, NodeNames=nodes))["NodeNames"]
        return found

    served.wait_until(lambda: passing() == ["node-2"])
    binding = body(
        PodName="web",
        PodNamespace=cluster.namespace,
        PodUID=pod["metadata"]["uid"],
        Node="node-2",
    )
    assert served.post("/bind", binding) == {"Error": ""}
    bound = cluster.api.get("Pod", "web", cluster.namespace)
    assert bound["spec"]["nodeName"] == "node-2"
