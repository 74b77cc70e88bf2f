"""A shadow beside the reference kube-scheduler, on the real API server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.client.kubeconfig import load_kubeconfig
from mooring.config import default_config, load_config
from mooring.framework.features import FeatureGates
from mooring.insight.comparison import Verdict
from mooring.insight.following import following, reading_client
from mooring.insight.shadow import Shadow, ShadowReport
from mooring.registry import default_registry
from tests.reference.sides import Side
from tests.support.cluster import Cluster

NODES = 40
ZONE = "topology.kubernetes.io/zone"
SECONDS = 60


def node(number: int) -> dict[str, Any]:
    name = f"node-{number:02}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, ZONE: "abc"[number % 3]},
        },
        "spec": {
            "taints": [{"key": "soft", "effect": "PreferNoSchedule"}] if number % 5 == 0 else []
        },
        "status": {
            "allocatable": {
                "cpu": str(2 + number % 4),
                "memory": f"{8 + number % 7}Gi",
                "pods": "9",
            }
        },
    }


def pod(number: int) -> dict[str, Any]:
    """Return one of several kinds of pods: plain, spread, with affinity, with a selector."""
    requests = {"cpu": f"{100 + 50 * (number % 5)}m", "memory": f"{128 * (1 + number % 3)}Mi"}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    }
    selector = {"matchLabels": {"app": f"app-{number % 4}"}}
    if number % 4 == 1:
        constraint = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": selector}
        spec["topologySpreadConstraints"] = [constraint | {"whenUnsatisfiable": "DoNotSchedule"}]
    elif number % 4 == 2:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": rule}
    elif number % 4 == 3:
        term = {"topologyKey": ZONE, "labelSelector": selector}
        preferred = [{"weight": 50, "podAffinityTerm": term}]
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        spec["affinity"] = {"podAffinity": rule}
        spec["nodeSelector"] = {ZONE: "a"}
    metadata = {"name": f"pod-{number}", "labels": {"app": f"app-{number % 4}"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def shadowed(
    reference: Side, cluster: Cluster, folder: Path, pods: int, config: Path | None = None
) -> ShadowReport:
    """Let the reference place pods one at a time, and return the report of a shadow."""
    for number in range(NODES):
        cluster.create(node(number))
    registry, gates, shadow = default_registry(), FeatureGates(), Shadow()
    rules = (
        default_config(registry=registry, feature_gates=gates)
        if config is None
        else load_config(str(config), registry=registry, feature_gates=gates)
    )
    scheduler = await asyncio.to_thread(reference.start, cluster.plane, folder)
    try:
        connection = load_kubeconfig(cluster.plane.scheduler_kubeconfig)
        async with (
            reading_client(connection, "shadow-test") as client,
            following(rules, client, registry, gates, taps=(shadow,)) as running,
        ):
            shadow.begin(running.scheduler)
            for number in range(pods):
                await asyncio.to_thread(cluster.create, pod(number))
                async with asyncio.timeout(SECONDS):
                    while shadow.report.counts.total() <= number:
                        await asyncio.sleep(0.01)
                        shadow.look()
    finally:
        scheduler.stop()
        for number in range(pods):
            cluster.api.delete("Pod", f"pod-{number}", cluster.namespace)
    return shadow.report


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
async def test_the_reference_decides_as_we_do(
    sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    report = await shadowed(sides[0], cluster, tmp_path, 60)
    assert report.examples == {}
    assert report.counts == {Verdict.AGREED: 60}


#: Another configuration, and the plugin to which the first difference is due.
OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "most allocated first": (
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [
                                {"name": "cpu", "weight": 1},
                                {"name": "memory", "weight": 1},
                            ],
                        }
                    },
                }
            ],
            "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        },
        "NodeResourcesFit",
    ),
    "nodes with a label alone": (
        {
            "pluginConfig": [
                {
                    "name": "NodeAffinity",
                    "args": {
                        "addedAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "absent", "operator": "Exists"}]}
                                ]
                            }
                        }
                    },
                }
            ]
        },
        "NodeAffinity",
    ),
}


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
@pytest.mark.parametrize("name", OTHERS)
async def test_a_difference_is_attributed_to_its_plugin(
    name: str, sides: tuple[Side, Side], cluster: Cluster, tmp_path: Path
) -> None:
    profile, plugin = OTHERS[name]
    config = tmp_path / "config.yaml"
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **profile}],
    }
    config.write_text(yaml.safe_dump(document))
    report = await shadowed(sides[0], cluster, tmp_path, 1, config)
    assert report.counts[Verdict.AGREED] == 0
    ((_, found),) = report.plugins
    assert found == plugin
