"""What a plugin of the scheduler-plugins family adds to a pod's CPU in the default profile.

Each row schedules the same pods twice, with the default profile and with the plugin added to it;
the difference is in units of one bare Python loop over the nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.measure import Result, run
from benchmarks.objects import PodTemplate, make_nodes
from benchmarks.workloads import Workload
from mooring.api import KubeObject, Pod, decode
from mooring.config.load import load_config_data
from mooring.framework.handle import HttpAnswer
from mooring.offline.memory_scheduler import MemoryScheduler
from mooring.registry import default_registry

_NODES = 5000
_MEASURED = 500
_WATCHER = "http://load-watcher.example:2020"


class Row(msgspec.Struct):
    """One plugin to measure."""

    plugin: str
    #: Loops over the nodes that it may add to a pod.
    limit: float
    args: dict[str, Any] = {}
    #: The objects that it reads, for a number of nodes.
    objects: Callable[[int], list[KubeObject]] = lambda nodes: []
    labels: dict[str, str] = {}
    #: Whether pods have limits equal to their requests.
    guaranteed: bool = False


class LoadWatcher:
    """A load watcher that has measured every node."""

    def __init__(self, nodes: int) -> None:
        chance = random.Random(1)
        metrics = {
            f"node-{index}": {
                "metrics": [
                    {"type": kind, "operator": operator, "value": chance.uniform(1, most)}
                    for kind in ("CPU", "Memory")
                    for operator, most in (("AVG", 60), ("STD", 10))
                ]
            }
            for index in range(nodes)
        }
        self._body = msgspec.json.encode(
            {"window": {"end": 0}, "data": {"NodeMetricsMap": metrics}}
        )

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """Return the measurements."""
        return HttpAnswer(200, self._body)


def _cells(count: int) -> Callable[[int], list[KubeObject]]:
    def make(nodes: int) -> list[KubeObject]:
        zones = [
            {
                "name": f"node-{cell}",
                "type": "Node",
                "costs": [
                    {"name": f"node-{other}", "value": 10 if other == cell else 20}
                    for other in range(count)
                ],
                "resources": [
                    {"name": "cpu", "available": "2"},
                    {"name": "memory", "available": "16Gi"},
                ],
            }
            for cell in range(count)
        ]
        return [
            decode(
                {
                    "apiVersion": "topology.node.k8s.io/v1alpha2",
                    "kind": "NodeResourceTopology",
                    "metadata": {"name": f"node-{index}"},
                    "attributes": [
                        {"name": "topologyManagerPolicy", "value": "single-numa-node"},
                        {"name": "topologyManagerScope", "value": "container"},
                    ],
                    "zones": zones,
                }
            )
            for index in range(nodes)
        ]

    return make


def _network(nodes: int) -> list[KubeObject]:
    group = {
        "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "workloads": [
                {
                    "workload": {"selector": "web"},
                    "dependencies": [{"workload": {"selector": "db"}, "maxNetworkCost": 100}],
                }
            ]
        },
    }
    costs = {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "nt-default", "namespace": "default"},
        "spec": {"weights": [{"name": "UserDefined", "topologyList": []}]},
    }
    pods = [
        PodTemplate(labels={_GROUP: "shop", f"{_GROUP}.workload": "db"}).make(
            f"db-{index}", "sched-0", f"node-{index}"
        )
        for index in range(20)
    ]
    return [decode(group), decode(costs), *pods]


def _profiles(nodes: int) -> list[KubeObject]:
    return [
        decode(
            {
                "apiVersion": "security-profiles-operator.x-k8s.io/v1beta1",
                "kind": "SeccompProfile",
                "metadata": {"name": "all-syscalls", "namespace": "default"},
                "spec": {
                    "syscalls": [
                        {"action": "SCMP_ACT_ALLOW", "names": [f"call{n}" for n in range(300)]}
                    ]
                },
            }
        )
    ]


_GROUP = "appgroup.diktyo.x-k8s.io"
_LOAD = {"watcherAddress": _WATCHER}
_MODELS = {f"node-{index}": {"k0": 100, "k1": -50, "k2": -0.02} for index in range(_NODES)}

ROWS = (
    Row("NodeResourcesAllocatable", 0.5),
    Row(
        "NodeMetadata",
        0.5,
        {
            "metadataKey": "kubernetes.io/hostname",
            "metadataSource": "Label",
            "metadataType": "Number",
            "scoringStrategy": "Highest",
        },
    ),
    Row(
        "NetworkOverhead",
        0.5,
        objects=_network,
        labels={_GROUP: "shop", f"{_GROUP}.workload": "web"},
    ),
    Row("SySched", 0.5, objects=_profiles),
    Row("TargetLoadPacking", 0.5, _LOAD),
    Row("LoadVariationRiskBalancing", 0.5, _LOAD),
    Row("LowRiskOverCommitment", 0.5, _LOAD),
    Row("Peaks", 0.5, {"WatcherAddress": _WATCHER, "NodePowerModel": _MODELS}),
    Row("NodeResourceTopologyMatch", 2.5, objects=_cells(2), guaranteed=True),
    Row("NodeResourceTopologyMatch", 2.5, objects=_cells(8), guaranteed=True),
    Row(
        "NodeResourceTopologyMatch",
        2.5,
        {
            "cacheResyncPeriodSeconds": 5,
            "scoringStrategy": {"type": "LeastNUMANodes"},
        },
        objects=_cells(8),
        guaranteed=True,
    ),
)


def report() -> list[str]:
    """Measure every row; return those that miss their limit."""
    print(
        f"\n{'added to the default profile':<48}{'nodes':>7}{'loops':>8}{'more':>8}{'to reach':>10}"
    )
    missed = []
    for row in ROWS:
        without, with_it = measure(row, enabled=False), measure(row, enabled=True)
        more = with_it.loops - without.loops
        figures = f"{with_it.nodes:>7}{with_it.loops:>8.2f}{more:>8.2f}{row.limit:>10.1f}"
        print(f"{row.plugin:<48}{figures}", flush=True)
        if more > row.limit:
            missed.append(f"{row.plugin}: {more:.2f} loops more, to reach {row.limit}")
    return missed


def measure(row: Row, *, enabled: bool, nodes: int = _NODES, measured: int = _MEASURED) -> Result:
    """Schedule pods with the default profile, with or without the plugin."""
    profile: dict[str, Any] = {}
    if enabled:
        profile = {
            "plugins": {"multiPoint": {"enabled": [{"name": row.plugin}]}},
            "pluginConfig": [{"name": row.plugin, "args": row.args}],
        }
    registry = default_registry()
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        },
        registry=registry,
    )
    scheduler = MemoryScheduler(
        [*make_nodes(nodes, 3), *row.objects(nodes)],
        config=config,
        registry=registry,
        reuse=False,
        http=LoadWatcher(nodes),
    )
    return run(Workload([], _pods(row), measured), scheduler)


def _pods(row: Row) -> Iterator[Pod]:
    amounts = {"cpu": "100m", "memory": "500Mi"}
    container: dict[str, Any] = {
        "name": "pause",
        "image": "pause:3.10",
        "resources": {"requests": amounts},
    }
    if row.guaranteed:
        container["resources"] = {"requests": amounts, "limits": amounts}
    template = PodTemplate(labels=row.labels, containers=[container])
    return (template.make(f"pod-{index}", "sched-1") for index in range(10_000))


if __name__ == "__main__":
    report()
