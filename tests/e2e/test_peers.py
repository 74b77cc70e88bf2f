"""The reference kube-scheduler and the official Python client, on a local cluster."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

from tests.support.local_up import Up, wait_logged
from tests.support.processes import LOOPBACK, Process, free_port
from tests.support.waiting import eventually

REFERENCE = "reference-scheduler"


@pytest.fixture
def reference(kube_scheduler: Path) -> Iterator[Callable[[Up], Process]]:
    """Yield a function that runs kube-scheduler on a cluster, under its own scheduler name."""

    def start(cluster: Up) -> Process:
        file = cluster.folder / "reference.yaml"
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "leaderElection": {"leaderElect": True, "resourceName": REFERENCE},
                    "clientConnection": {"kubeconfig": str(cluster.kubeconfig)},
                    "profiles": [{"schedulerName": REFERENCE}],
                }
            )
        )
        flags = [f"--config={file}", f"--secure-port={free_port()}", f"--bind-address={LOOPBACK}"]
        process = cluster.start([str(kube_scheduler), *flags, "--v=2"], "kube-scheduler")
        wait_logged(process, "Successfully acquired lease")
        return process

    yield start


def pod(name: str, scheduler: str, cpu: str, **spec: Any) -> dict[str, Any]:
    """Return a pod without a grace period."""
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def test_kube_scheduler_schedules_a_deployment(
    up: Callable[..., Up], reference: Callable[[Up], Process]
) -> None:
    cluster = up("--nodes=3")
    reference(cluster)
    kubectl = cluster.kubectl
    web = {"app": "web"}
    template = {"metadata": {"labels": web}, "spec": pod("", REFERENCE, "100m")["spec"]}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 6, "selector": {"matchLabels": web}, "template": template},
    }
    kubectl("apply -f -", stdin=json.dumps(deployment))
    assert "successfully rolled out" in kubectl("rollout status deployment web --timeout=30s")
    placed = kubectl("get pods -l app=web -o jsonpath='{.items[*].spec.nodeName}'").split()
    assert sorted(Counter(placed).values()) == [2, 2, 2]
    kubectl.until("get events -o jsonpath='{.items[*].reportingComponent}'", REFERENCE)


def test_both_schedulers_say_the_same_on_the_same_cluster(
    up: Callable[..., Up], reference: Callable[[Up], Process]
) -> None:
    cluster = up("--nodes=3")
    reference(cluster)
    kubectl = cluster.kubectl
    kubectl("taint node node-2 team=other:NoSchedule")
    kubectl("cordon node-1")
    for name, scheduler in (("theirs", REFERENCE), ("ours", "default-scheduler")):
        kubectl("apply -f -", stdin=json.dumps(pod(name, scheduler, "1000")))
    said = [
        kubectl.until(f"get pod {name} -o jsonpath='{{.status.conditions}}'", "nodes are available")
        for name in ("theirs", "ours")
    ]
    theirs, ours = (json.loads(one)[0]["message"] for one in said)
    assert theirs.startswith("0/3 nodes are available: 1 Insufficient cpu, ")
    assert ours == theirs


def test_kube_scheduler_preempts(up: Callable[..., Up], reference: Callable[[Up], Process]) -> None:
    cluster = up("--nodes=1")
    reference(cluster)
    kubectl = cluster.kubectl
    kubectl("create priorityclass urgent --value=1000")
    room = kubectl("get node node-0 -o jsonpath='{.status.allocatable.cpu}'")
    kubectl("apply -f -", stdin=json.dumps(pod("low", REFERENCE, room)))
    kubectl("wait --for=condition=Ready pod/low")
    urgent = pod("high", REFERENCE, room, priorityClassName="urgent")
    kubectl("apply -f -", stdin=json.dumps(urgent))
    kubectl("wait --for=condition=Ready pod/high")
    assert "NotFound" in kubectl.refused("get pod low")
    kubectl.until("get events --field-selector reason=Preempted", "pod/low")


@pytest.fixture
def api(up: Callable[..., Up]) -> Iterator[client.CoreV1Api]:
    """Yield the official client of a cluster with two nodes."""
    cluster = up("--nodes=2")
    with config.new_client_from_config(str(cluster.kubeconfig)) as known:
        yield client.CoreV1Api(known)


def test_the_python_client_lists_creates_patches_and_deletes(api: client.CoreV1Api) -> None:
    assert [node.metadata.name for node in api.list_node().items] == ["node-0", "node-1"]
    made = client.V1ConfigMap(
        metadata=client.V1ObjectMeta(name="settings", labels={"a": "b"}), data={"one": "1"}
    )
    api.create_namespaced_config_map("default", made)
    with pytest.raises(ApiException) as refused:
        api.create_namespaced_config_map("default", made)
    assert refused.value.status == 409
    assert json.loads(refused.value.body)["reason"] == "AlreadyExists"

    api.patch_namespaced_config_map("settings", "default", {"data": {"two": "2"}})
    (found,) = api.list_namespaced_config_map("default", label_selector="a=b").items
    assert found.data == {"one": "1", "two": "2"}
    found.data["one"] = "changed"
    assert api.replace_namespaced_config_map("settings", "default", found).data["one"] == "changed"
    with pytest.raises(ApiException, match="the object has been modified"):
        api.replace_namespaced_config_map("settings", "default", found)

    assert api.delete_namespaced_config_map("settings", "default")["status"] == "Success"
    with pytest.raises(ApiException, match="Not Found"):
        api.read_namespaced_config_map("settings", "default")


def test_the_python_client_watches_a_pod_come_to_run(api: client.CoreV1Api) -> None:
    before = api.list_namespaced_pod("default").metadata.resource_version
    api.create_namespaced_pod("default", pod("web", "default-scheduler", "100m"))
    seen = watch.Watch()
    phases = []
    for event in seen.stream(
        api.list_namespaced_pod, "default", resource_version=before, timeout_seconds=30
    ):
        phases.append((event["type"], event["object"].status.phase))
        if event["object"].status.phase == "Running":
            seen.stop()
    assert phases[0] == ("ADDED", "Pending")
    assert phases[-1] == ("MODIFIED", "Running")
    assert "simulated" in api.read_namespaced_pod_log("web", "default")
    assert api.delete_namespaced_pod("web", "default").metadata.name == "web"


def test_the_python_client_binds_a_pod(api: client.CoreV1Api) -> None:
    api.create_namespaced_pod("default", pod("mine", "nobody", "100m"))
    binding = client.V1Binding(
        metadata=client.V1ObjectMeta(name="mine"),
        target=client.V1ObjectReference(api_version="v1", kind="Node", name="node-1"),
    )
    # The client would decode a Binding, but servers respond with a Status.
    api.create_namespaced_pod_binding("mine", "default", binding, _preload_content=False)
    assert api.read_namespaced_pod("mine", "default").spec.node_name == "node-1"
    with pytest.raises(ApiException) as refused:
        api.create_namespaced_pod_binding("mine", "default", binding)
    assert refused.value.status == 409
    assert "is already assigned to node" in refused.value.body


def test_the_python_clients_dynamic_form_finds_custom_resources(
    api: client.CoreV1Api, tmp_path: Path
) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "podgroups.scheduling.example.com"},
        "spec": {
            "group": "scheduling.example.com",
            "scope": "Namespaced",
            "names": {"kind": "PodGroup", "plural": "podgroups"},
            "versions": [version],
        },
    }
    extensions = client.ApiextensionsV1Api(api.api_client)
    extensions.create_custom_resource_definition(definition)

    def established() -> bool:
        found = extensions.read_custom_resource_definition(definition["metadata"]["name"])
        conditions = found.status.conditions or []
        return any(one.type == "Established" and one.status == "True" for one in conditions)

    eventually(established, "the definition is established")
    known = dynamic.DynamicClient(api.api_client, cache_file=str(tmp_path / "discovered"))
    groups = known.resources.get(api_version="scheduling.example.com/v1alpha1", kind="PodGroup")
    group = {
        "apiVersion": "scheduling.example.com/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang"},
        "spec": {"minMember": 3},
    }
    groups.create(body=group, namespace="default")
    (found,) = groups.get(namespace="default").items
    assert found.spec.minMember == 3
    patched = groups.patch(
        body={"spec": {"minMember": 4}},
        name="gang",
        namespace="default",
        content_type="application/merge-patch+json",
    )
    assert patched.spec.minMember == 4
    assert groups.delete(name="gang", namespace="default").status == "Success"
