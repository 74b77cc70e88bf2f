"""A complete local cluster: its first objects, its scheduler, how it starts and stops."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mooring import ActionType, ClusterEvent, EventResource, Plugin, Status
from mooring.api import Pod
from mooring.apiserver.api_server import ServerSettings
from mooring.errors import ApiError, ConfigError
from mooring.framework.features import FeatureGates
from mooring.local.local_cluster import LocalCluster, LocalClusterSettings
from mooring.local.local_gates import served_versions, server_gates
from mooring.local.local_scheduler import make_local_rules
from tests.apiserver.api_server import pod
from tests.local.clusters import Broken, manifests, nodes_of, plan, running

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


async def test_a_deployment_becomes_pods_that_run(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=2) as cluster:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
        deployment = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 3,
                "selector": {"matchLabels": {"app": "web"}},
                "template": template,
            },
        }
        path = "/apis/apps/v1/namespaces/default/deployments"
        await cluster.post(path, deployment)
        await cluster.until(f"{path}/web", lambda one: one["status"].get("readyReplicas") == 3)
        managers = {
            entry["manager"]
            for one in (await cluster.get(PODS))["items"]
            for entry in one["metadata"]["managedFields"]
        }
        assert managers == {"kube-controller-manager", "kubelet"}


async def test_it_is_not_ready_before_everything_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()

    async def wait(self: object) -> None:
        await gate.wait()

    monkeypatch.setattr("mooring.local.workers.Workers.start", wait)
    settings = LocalClusterSettings(
        server=ServerSettings(kubeconfig=tmp_path / "kubeconfig"), plan=plan()
    )
    cluster = LocalCluster(settings)
    starting = asyncio.create_task(cluster.start())
    while not cluster.server.url:
        await asyncio.sleep(0)
    assert not cluster.server.api.ready
    assert not (tmp_path / "kubeconfig").exists()
    gate.set()
    await starting
    assert cluster.server.api.ready
    assert (tmp_path / "kubeconfig").exists()
    await cluster.stop()


async def test_the_default_scheduler_may_be_left_to_another_process(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration,"
        " profiles: [{schedulerName: mine}]}"
    )
    left = make_local_rules(config, (), FeatureGates(), default_scheduler=False)
    assert [profile.scheduler_name for profile in left.config.profiles] == ["mine"]
    both = plan(config)
    assert [one.scheduler_name for one in both.config.profiles] == ["mine", "default-scheduler"]


class Blocks(Plugin):
    """A filter that blocks until the log names it."""

    named = threading.Event()

    def filter(self, state: object, pod: object, node: object) -> None:
        """Block the loop."""
        assert self.named.wait(20)


class _Noticed(logging.Handler):
    """A handler that ends the wait of `Blocks`."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.msg == "A plugin blocks the scheduling loop":
            assert record.kv["plugin"] == "Blocks"  # type: ignore[attr-defined]
            Blocks.named.set()


async def test_a_plugin_that_blocks_the_loop_is_named_while_it_blocks(tmp_path: Path) -> None:
    handler, log = _Noticed(), logging.getLogger("mooring.app.watchdog")
    log.addHandler(handler)
    try:
        async with running(tmp_path, nodes=1, plan=plan(plugins=[Blocks])) as cluster:
            await cluster.post(PODS, pod("a"))
            await cluster.until(PODS, nodes_of)
    finally:
        log.removeHandler(handler)


def _refusing(**methods: object) -> tuple[type[Plugin], Counter[str]]:
    """Return a plugin that refuses every node, and a count of its calls by pod."""
    calls: Counter[str] = Counter()

    def filter(self: Plugin, state: object, pod: Pod, node: object) -> Status:
        calls[pod.name] += 1
        return Status.unschedulable("no")

    return type("Refusing", (Plugin,), {"filter": filter, **methods}), calls


def _on_nodes(self: Plugin) -> list[ClusterEvent]:
    return [ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)]


@pytest.mark.parametrize("registers", [True, False])
async def test_a_refused_pod_is_tried_again_for_its_own_condition_if_every_event_counts(
    tmp_path: Path, registers: bool
) -> None:
    """tests/reference/test_requeueing.py shows that kube-scheduler does the same."""
    plugin, calls = _refusing(**{"events_to_register": _on_nodes} if registers else {})
    attempts = 1 if registers else 2
    async with running(tmp_path, nodes=1, plan=plan(plugins=[plugin])) as cluster:
        for name in ("a", "b", "c"):
            await cluster.post(PODS, pod(name))
            await cluster.until(PODS, lambda _, name=name: calls[name] >= attempts)
            # The condition is written, and has come back.
            await cluster.until(f"{PODS}/{name}", lambda found: found["status"].get("conditions"))
    assert calls == dict.fromkeys(("a", "b", "c"), attempts)


async def test_nodes_enter_in_bulk_and_are_those_that_the_api_makes(tmp_path: Path) -> None:
    said: list[str] = []
    settings = LocalClusterSettings(
        server=ServerSettings(kubeconfig=tmp_path / "kubeconfig"), plan=None, nodes=300
    )
    cluster = LocalCluster(settings, progress=said.append)
    requests = _count_requests(cluster)
    await cluster.start()
    try:
        nodes = [one.object for one in cluster.server.cluster.store.items("/nodes")]
    finally:
        await cluster.stop()
    assert len(nodes) == 300
    assert requests["POST", "/api/v1/nodes"] == 1
    assert said == ["creating nodes: 0 of 300", "creating nodes: 250 of 300"]
    assert len({node["metadata"]["uid"] for node in nodes}) == 300
    assert len({node["status"]["addresses"][0]["address"] for node in nodes}) == 300
    first, second = (next(_shape(one) for one in nodes if _name(one) == name) for name in NAMED)
    assert first == second


NAMED = ("node-0", "node-7")


def _name(node: dict[str, Any]) -> str:
    name: str = node["metadata"]["name"]
    return name


def _shape(node: dict[str, Any]) -> Any:
    """Return a node without its name, its address and what the server adds to every object."""
    name, address = _name(node), node["status"]["addresses"][0]["address"]
    metadata = {k: v for k, v in node["metadata"].items() if k not in ("uid", "resourceVersion")}
    text = json.dumps({**node, "metadata": metadata}, sort_keys=True)
    text = text.replace(f'"{name}"', '"NAME"').replace(f'"{address}"', '"ADDRESS"')
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", text))


def _count_requests(cluster: LocalCluster) -> Counter[tuple[str, str]]:
    """Count the requests to a cluster's API from now on, by method and path."""
    counts: Counter[tuple[str, str]] = Counter()
    handle = cluster.server.api.handle

    async def counting(request: Any, *more: Any) -> Any:
        counts[request.method, request.path] += 1
        return await handle(request, *more)

    cluster.server.api.handle = counting  # type: ignore[method-assign]
    return counts


async def test_what_cannot_start_leaves_nothing_running(tmp_path: Path) -> None:
    settings = LocalClusterSettings(
        server=ServerSettings(kubeconfig=tmp_path / "kubeconfig"),
        plan=plan(plugins=[Broken]),
        nodes=1,
    )
    before = asyncio.all_tasks()
    cluster = LocalCluster(settings)
    with pytest.raises(Exception, match="no such thing"):
        await cluster.start()
    assert asyncio.all_tasks() == before
    assert not (tmp_path / "kubeconfig").exists()


async def test_two_clusters_cannot_share_a_folder(tmp_path: Path) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    async with running(tmp_path, server=server):
        with pytest.raises(ConfigError, match="another local cluster keeps its objects here"):
            LocalCluster(LocalClusterSettings(server=server, plan=plan()))


async def test_nodes_and_pods_go_on_after_a_restart(tmp_path: Path) -> None:
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", data_dir=tmp_path / "data")
    objects = manifests("{apiVersion: v1, kind: Namespace, metadata: {name: mine}}")
    for name in ("a", "b"):
        async with running(tmp_path, server=server, nodes=2, objects=objects) as cluster:
            await cluster.post(PODS, pod(name))
            await cluster.until(f"{PODS}/{name}", lambda one: one["status"]["phase"] == "Running")
            assert len((await cluster.get(NODES))["items"]) == 2
    assert {"a", "b"} == set(nodes_of(await cluster.get(PODS)))


GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"


async def test_custom_resources_are_served_if_they_are_asked_for(tmp_path: Path) -> None:
    async with running(tmp_path, nodes=1, custom_sets=("scheduling", "topology")) as reader:
        await reader.get("/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies")
        group = {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": {"minMember": 2},
        }
        await reader.post(GROUPS, group)
        await reader.until(
            GROUPS, lambda found: found["items"][0].get("status", {}).get("phase") == "Pending"
        )


POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"


def _with_groups(folder: Path) -> ServerSettings:
    gates = server_gates("")
    enabled = served_versions(gates)
    return ServerSettings(kubeconfig=folder / "kubeconfig", enabled=enabled, features=gates)


async def test_a_pod_group_is_deleted_when_its_pods_have_ended(tmp_path: Path) -> None:
    async with running(tmp_path, server=_with_groups(tmp_path), nodes=1, plan=None) as reader:
        group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
        }
        await reader.post(POD_GROUPS, group)
        member = pod("p")
        member["spec"] |= {"schedulingGroup": {"podGroupName": "g"}, "nodeName": "node-0"}
        await reader.post(PODS, member)
        await reader.until(f"{PODS}/p", lambda one: one["status"]["phase"] == "Running")
        await reader.client.request("DELETE", f"{POD_GROUPS}/g")
        deleted = await reader.get(f"{POD_GROUPS}/g")
        assert deleted["metadata"]["deletionTimestamp"]
        await reader.client.request("DELETE", f"{PODS}/p")
        await reader.until(POD_GROUPS, lambda found: found["items"] == [])


async def test_a_pod_group_goes_with_its_owner(tmp_path: Path) -> None:
    async with running(tmp_path, server=_with_groups(tmp_path), nodes=1, plan=None) as reader:
        workloads = POD_GROUPS.replace("podgroups", "workloads")
        policy = {"schedulingPolicy": {"basic": {}}}
        workload = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": "w"},
            "spec": {"podGroupTemplates": [{"name": "t", **policy}]},
        }
        made = await reader.post(workloads, workload)
        owner = {"apiVersion": made["apiVersion"], "kind": "Workload", "name": "w"}
        owner["uid"] = made["metadata"]["uid"]
        group = {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "g", "ownerReferences": [owner]},
            "spec": policy,
        }
        await reader.post(POD_GROUPS, group)
        await reader.client.request("DELETE", f"{workloads}/w")
        await reader.until(POD_GROUPS, lambda found: found["items"] == [])


async def test_a_plugin_turns_its_custom_resources_on(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    profile = "{schedulerName: gangs, plugins: {multiPoint: {enabled: [{name: Coscheduling}],"
    config.write_text(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: ["
        f"{profile} disabled: [{{name: PrioritySort}}]}}}}}}]}}"
    )
    with_gangs = make_local_rules(config, (), FeatureGates(), default_scheduler=False)
    async with running(tmp_path, plan=with_gangs) as reader:
        assert (await reader.get(GROUPS))["items"] == []
    async with running(tmp_path) as reader:
        with pytest.raises(ApiError, match="404"):
            await reader.get(GROUPS)


async def test_devices_consume_resources_of_their_node(tmp_path: Path) -> None:
    gate = "DRANodeAllocatableResources"
    server = ServerSettings(kubeconfig=tmp_path / "kubeconfig", features=frozenset({gate}))
    scheduler = make_local_rules(None, (), FeatureGates({gate: True}))
    api, version = "/apis/resource.k8s.io/v1", {"apiVersion": "resource.k8s.io/v1"}
    amounts = {"cpu": {"mapping": {"deviceMultiplier": "2"}}}
    async with running(tmp_path, nodes=1, server=server, plan=scheduler) as cluster:
        devices = {
            "driver": "d.io",
            "nodeName": "node-0",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d", "nodeAllocatableResources": amounts}],
        }
        exactly = {"deviceClassName": "c"}
        claim = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        for path, kind, spec in (
            ("deviceclasses", "DeviceClass", {}),
            ("resourceslices", "ResourceSlice", devices),
            ("namespaces/default/resourceclaims", "ResourceClaim", claim),
        ):
            made = {**version, "kind": kind, "metadata": {"name": "c"}, "spec": spec}
            await cluster.post(f"{api}/{path}", made)
        uses = {"requests": {"cpu": "1"}, "claims": [{"name": "g"}]}
        containers = [{"name": "x", "image": "i", "resources": uses}]
        claims = [{"name": "g", "resourceClaimName": "c"}]
        await cluster.post(PODS, pod("p", containers=containers, resourceClaims=claims))
        found = await cluster.until(f"{PODS}/p", lambda one: one["status"]["phase"] == "Running")
        assert found["status"]["nodeAllocatableResourceClaimStatuses"] == [
            {
                "resourceClaimName": "c",
                "containers": ["x"],
                "mapping": [{"name": "cpu", "quantity": "2"}],
            }
        ]
