"""A shadow beside the reference kube-scheduler, on the real API server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.live.workloads import HIGH, WORKLOADS, LiveWorkload, make_nodes
from benchmarks.objects import ZONE
from mooring.api import KubeObject, Pod, encode
from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import LoadResult, default_config
from mooring.config.load import load_config_data
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.scheduler.following import following, reading_client
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.shadow import shadow as module
from mooring.shadow.comparison import Verdict
from mooring.shadow.shadow import Shadow, is_unschedulable
from mooring.shadow.their_rules import beside
from tests.reference.sides import Side
from tests.support.cluster import Cluster
from tests.support.waiting import PATIENCE

NODES = 40
PODS = 60
#: Nodes of the workloads of the live benchmark, and how many pods of each workload are placed.
MANY_NODES = 100
SOME_PODS = 15
#: The workloads whose pods can be placed one at a time; the pods of a group are placed together.
ONE_BY_ONE = {name: one for name, one in WORKLOADS.items() if not one.flags}
IMAGE = "registry.example/app:1"

pytestmark = pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")

Manifest = dict[str, Any]


def node(number: int) -> Manifest:
    name = f"node-{number:02}"
    taints = [{"key": "soft", "effect": "PreferNoSchedule"}] if number % 5 == 0 else []
    amounts = {"cpu": str(2 + number % 4), "memory": f"{8 + number % 7}Gi", "pods": "9"}
    images = [{"names": [IMAGE], "sizeBytes": 900_000_000}] if number % 8 == 3 else []
    if number % 10 == 9:
        taints = [{"key": "hard", "effect": "NoSchedule"}]
        amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, ZONE: "abc"[number % 3]},
        },
        "spec": {"taints": taints},
        "status": {"allocatable": amounts, "images": images},
    }


def pod(number: int) -> Manifest:
    """Return one of several kinds of pods: plain, spread, with affinity, with a selector."""
    requests = {"cpu": f"{100 + 50 * (number % 7)}m", "memory": f"{128 * (1 + number % 3)}Mi"}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": IMAGE, "resources": {"requests": requests}}]
    }
    kind = number % 6
    selector = {"matchLabels": {"app": f"app-{kind}"}}
    zone = {"topologyKey": ZONE, "labelSelector": selector}
    if kind == 1:
        rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **zone}
        spec["topologySpreadConstraints"] = [rule]
    elif kind == 2:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": required}
    elif kind == 3:
        preferred = [{"weight": 50, "podAffinityTerm": zone}]
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        spec["affinity"] = {"podAffinity": rule}
        spec["nodeSelector"] = {ZONE: "a"}
    elif kind == 4:
        # It attracts the plain pods, which do not ask for it.
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"near": "yes"}}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAffinity": required}
    elif kind == 5:
        spec["nodeSelector"] = {ZONE: "b"}
    labels = {"app": f"app-{kind}", "near": "yes" if kind in (0, 4) else "no"}
    metadata = {"name": f"pod-{number}", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def rules_of(profile: Mapping[str, Any]) -> LoadResult:
    """Return a configuration of one profile."""
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **profile}],
    }
    return load_config_data(document, registry=default_registry())


@contextlib.asynccontextmanager
async def shadows(
    reference: Side, cluster: Cluster, folder: Path, rules: Mapping[str, LoadResult]
) -> AsyncIterator[dict[str, tuple[Shadow, RunningScheduler]]]:
    """Run the reference, and a shadow of it by each of these rules."""
    registry, gates = default_registry(), FeatureGates()
    connection = load_kubeconfig(cluster.plane.scheduler_kubeconfig)
    scheduler = await asyncio.to_thread(reference.start, cluster.plane, folder)
    found: dict[str, tuple[Shadow, RunningScheduler]] = {}
    try:
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(reading_client(connection, "shadow-test"))
            for name, config in rules.items():
                shadow = Shadow()
                both = beside(config, default_config(registry=registry, feature_gates=gates))
                engine = following(both, client, registry, gates, taps=(shadow,))
                running = await stack.enter_async_context(engine)
                shadow.begin(running.scheduler)
                found[name] = shadow, running
            yield found
    finally:
        scheduler.stop()


async def until(holds: Callable[[], bool], found: Mapping[str, tuple[Shadow, Any]]) -> None:
    """Wait until a condition holds, while the shadows look."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)
            for shadow, _ in found.values():
                shadow.look()


async def place(
    cluster: Cluster,
    manifest: Manifest,
    found: Mapping[str, tuple[Shadow, RunningScheduler]],
    *,
    fits: bool = True,
) -> None:
    """Create a pod, and wait until the shadows have seen what the reference did with it."""
    name = manifest["metadata"]["name"]
    made = await asyncio.to_thread(cluster.create, manifest)

    def is_seen(running: RunningScheduler) -> bool:
        if fits:
            return running.scheduler.cache.pod(made["metadata"]["uid"]) is not None
        waiting = running.informers.lister(Pod).get(name, cluster.namespace)
        return waiting is not None and is_unschedulable(waiting)

    await until(lambda: all(is_seen(running) for _, running in found.values()), found)


async def test_the_reference_decides_as_we_do(
    sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    for number in range(NODES):
        cluster.create(node(number))
    async with shadows(sides[0], cluster, tmp_path, {"": rules_of({})}) as found:
        for number in range(PODS):
            await place(cluster, pod(number), found)
        ((shadow, _),) = found.values()
    assert shadow.report.examples == {}
    assert shadow.report.counts == {Verdict.AGREED: PODS}


def _manifest(obj: KubeObject, name: str = "") -> Manifest:
    """Return an object as a manifest, without what the server sets."""
    document = encode(obj)
    metadata = {"name": name or obj.name, "labels": obj.labels}
    return {**document, "metadata": metadata}


async def _fill(
    cluster: Cluster, pods: list[Pod], found: Mapping[str, tuple[Shadow, RunningScheduler]]
) -> None:
    """Create pods that have a node, and wait until all shadows know them."""
    made = [await asyncio.to_thread(cluster.create, _manifest(one)) for one in pods]
    uids = [one["metadata"]["uid"] for one in made]
    await until(
        lambda: all(
            running.scheduler.cache.pod(uid) is not None
            for uid in uids
            for _, running in found.values()
        ),
        found,
    )


def _needed(workload: LiveWorkload, run: str) -> Iterator[KubeObject]:
    """Yield the objects that the pods of a workload refer to."""
    if workload.shared is not None:
        yield from workload.shared(MANY_NODES)
    # For the reference, and by the default rules, the pods of custom groups are plain ones.
    if workload.objects is not None and not workload.custom_resources:
        yield from workload.objects(SOME_PODS, run)


async def test_the_reference_decides_as_we_do_on_the_workloads_of_the_live_benchmark(
    sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    nodes = make_nodes(MANY_NODES, 3)
    for one in nodes:
        cluster.create(_manifest(one))
    cluster.create(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": HIGH},
            "value": 100,
        }
    )
    every_node = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
        },
        registry=default_registry(),
    )
    rules = {"default": rules_of({}), "every node": every_node}
    async with shadows(sides[0], cluster, tmp_path, rules) as found:
        # The pods of the workloads before stay, and those that fill the nodes come last.
        for name, workload in sorted(ONE_BY_ONE.items(), key=lambda one: one[1].filler is not None):
            if workload.filler is not None:
                await _fill(cluster, [pod for one in nodes for pod in workload.filler(one)], found)
            for needed in _needed(workload, name):
                await asyncio.to_thread(cluster.create, _manifest(needed))
            for number, made in enumerate(workload.make(SOME_PODS, name)):
                fits = not workload.leaves or number % 5 != 0
                await place(cluster, _manifest(made, f"{name}-{made.name}"), found, fits=fits)
        for shadow, running in found.values():
            for waiting in running.informers.lister(Pod).list():
                if is_unschedulable(waiting):
                    shadow.ask_pending(waiting, is_last=True)
    fitting = SOME_PODS * len(ONE_BY_ONE) - SOME_PODS // 5
    for name, (shadow, _) in found.items():
        assert shadow.report.examples == {}, name
        assert shadow.report.counts == {Verdict.AGREED: fitting}, name


RESOURCES = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def _args(plugin: str, **args: Any) -> Manifest:
    return {"pluginConfig": [{"name": plugin, "args": args}]}


def _plugins(**points: Any) -> Manifest:
    return {"plugins": points}


ABSENT = {"matchExpressions": [{"key": "absent", "operator": "Exists"}]}

#: Other configurations, and the plugin to which every difference is due.
OTHERS: dict[str, tuple[Manifest, str]] = {
    "most allocated first": (
        _args(
            "NodeResourcesFit", scoringStrategy={"type": "MostAllocated", "resources": RESOURCES}
        ),
        "NodeResourcesFit",
    ),
    "a ratio of requests to capacity": (
        _args(
            "NodeResourcesFit",
            scoringStrategy={
                "type": "RequestedToCapacityRatio",
                "resources": RESOURCES,
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
        ),
        "NodeResourcesFit",
    ),
    "no balance of resources": (
        _plugins(score={"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}),
        "NodeResourcesBalancedAllocation",
    ),
    "images above all": (
        _plugins(
            score={
                "disabled": [{"name": "ImageLocality"}],
                "enabled": [{"name": "ImageLocality", "weight": 100}],
            }
        ),
        "ImageLocality",
    ),
    "taints that do not matter": (
        _plugins(filter={"disabled": [{"name": "TaintToleration"}]}),
        "TaintToleration",
    ),
    "selectors that do not matter": (
        _plugins(filter={"disabled": [{"name": "NodeAffinity"}]}),
        "NodeAffinity",
    ),
    "affinity that attracts nobody else": (
        _args("InterPodAffinity", hardPodAffinityWeight=0),
        "InterPodAffinity",
    ),
    "nodes with a label alone": (
        _args(
            "NodeAffinity",
            addedAffinity={
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [ABSENT]}
            },
        ),
        "NodeAffinity",
    ),
}


async def test_differences_are_attributed_to_their_plugin(
    sides: tuple[Side, Side],
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Both sides have seen every change before the next pod is created.
    monkeypatch.setattr(module, "SETTLING", 0.0)
    for number in range(NODES):
        cluster.create(node(number))
    rules = {name: rules_of(profile) for name, (profile, _) in OTHERS.items()}
    async with shadows(sides[0], cluster, tmp_path, rules) as found:
        for number in range(PODS):
            await place(cluster, pod(number), found)
    for name, (shadow, _) in found.items():
        report, (_, plugin) = shadow.report, OTHERS[name]
        assert report.counts.total() == PODS, name
        assert report.counts[Verdict.AGREED] < PODS, name
        assert {due for _, due in report.plugins} == {plugin}, (name, report.examples)
