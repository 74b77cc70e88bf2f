"""What a plugin of the scheduler-plugins family adds to a pod's CPU in the default profile.

Each row schedules the same pods twice, with the default profile and with the plugin added to it;
the difference is in units of one bare Python loop over the nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.measure import Result, Run, compare, schedule_one
from benchmarks.objects import ZONE, PodTemplate, make_nodes
from benchmarks.workloads import Workload
from mooring.api import KubeObject, Pod, decode
from mooring.config.load import load_config_data
from mooring.framework.handle import HttpAnswer
from mooring.registry import default_registry
from mooring.virtual.memory_scheduler import MemoryScheduler

_NODES = 5000
_MEASURED = 1000
_QUOTAS = 500
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
    #: How many namespaces the pods are in.
    namespaces: int = 1
    #: What the objects are like, for the name of the row.
    of: str = ""

    @property
    def profile(self) -> dict[str, Any]:
        """Return the profile with the plugin."""
        return {
            "plugins": {"multiPoint": {"enabled": [{"name": self.plugin}]}},
            "pluginConfig": [{"name": self.plugin, "args": self.args}],
        }

    @property
    def name(self) -> str:
        """Return the name of the row."""
        return f"{self.plugin}, {self.of}" if self.of else self.plugin


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


def _quotas(nodes: int) -> list[KubeObject]:
    """Return quotas that lend to each other, each with a running pod."""
    template = PodTemplate()
    amounts = {"cpu": "40", "memory": "400Gi"}
    quotas: list[KubeObject] = [
        decode(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "ElasticQuota",
                "metadata": {"name": "quota", "namespace": f"sched-{number}"},
                "spec": {"min": amounts, "max": amounts},
            }
        )
        for number in range(1, _QUOTAS + 1)
    ]
    return [
        *quotas,
        *(
            template.make(f"before-{number}", f"sched-{number}", f"node-{number % nodes}")
            for number in range(1, _QUOTAS + 1)
        ),
    ]


def _far(nodes: int) -> list[KubeObject]:
    """Return an application of which two zones of three are too far away."""
    group, _, *pods = _network(nodes)
    zones = ("zone1", "zone2", "zone3")
    origins = [
        {
            "origin": here,
            "costList": [
                {"destination": there, "networkCost": 1000} for there in zones if there != here
            ],
        }
        for here in zones
    ]
    levels = [{"topologyKey": ZONE, "originList": origins}]
    costs = {
        "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
        "kind": "NetworkTopology",
        "metadata": {"name": "nt-default", "namespace": "default"},
        "spec": {"weights": [{"name": "UserDefined", "topologyList": levels}]},
    }
    return [group, decode(costs), pods[0]]


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
_WEB = {_GROUP: "shop", f"{_GROUP}.workload": "web"}
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
    Row("NetworkOverhead", 0.5, objects=_network, labels=_WEB),
    Row("NetworkOverhead", 2.5, objects=_far, labels=_WEB, of="two nodes of three refused"),
    Row("PodState", 0.5),
    Row("SySched", 0.5, objects=_profiles),
    Row("TargetLoadPacking", 0.5, _LOAD),
    Row("LoadVariationRiskBalancing", 0.5, _LOAD),
    Row("LowRiskOverCommitment", 0.5, _LOAD),
    Row("Peaks", 0.5, {"WatcherAddress": _WATCHER, "NodePowerModel": _MODELS}),
    Row("NodeResourceTopologyMatch", 2.5, objects=_cells(2), guaranteed=True, of="2 cells"),
    Row("NodeResourceTopologyMatch", 2.5, objects=_cells(8), guaranteed=True, of="8 cells"),
    Row(
        "NodeResourceTopologyMatch",
        2.5,
        {
            "cacheResyncPeriodSeconds": 5,
            "scoringStrategy": {"type": "LeastNUMANodes"},
        },
        objects=_cells(8),
        guaranteed=True,
        of="8 cells, cache",
    ),
    Row(
        "CapacityScheduling",
        1.0,
        objects=_quotas,
        namespaces=_QUOTAS,
        of=f"{_QUOTAS} quotas",
    ),
)


def report() -> list[str]:
    """Measure every row; return those that miss their limit."""
    print(
        f"\n{'added to the default profile':<48}{'nodes':>7}{'loops':>8}{'more':>8}{'to reach':>10}"
    )
    missed = []
    for row in ROWS:
        without, with_it = measure(row)
        # The loops of both runs are the same; their median is steadier than that of each.
        loop = (without.loop + with_it.loop) / 2
        more = (with_it.cpu_per_pod - without.cpu_per_pod) / loop
        figures = f"{with_it.nodes:>7}{with_it.loops:>8.2f}{more:>8.2f}{row.limit:>10.1f}"
        print(f"{row.name:<48}{figures}", flush=True)
        if more > row.limit:
            missed.append(f"{row.name}: {more:.2f} loops more, to reach {row.limit}")
    return missed


def measure(row: Row, nodes: int = _NODES, measured: int = _MEASURED) -> tuple[Result, Result]:
    """Schedule pods with the default profile, and with the plugin added to it."""
    objects = [*make_nodes(nodes, 3), *row.objects(nodes)]
    schedulers = (make_scheduler(objects, profile) for profile in ({}, row.profile))
    runs = [Run(Workload([], _pods(row), measured), one, schedule_one) for one in schedulers]
    return compare(runs[0], runs[1])


def make_scheduler(objects: list[KubeObject], profile: dict[str, Any]) -> MemoryScheduler:
    """Return a scheduler with one profile, whose load watcher has measured every node."""
    registry = default_registry()
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        },
        registry=registry,
    )
    return MemoryScheduler(
        objects, config=config, registry=registry, reuse=False, http=LoadWatcher(_NODES)
    )


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
    return (
        template.make(f"pod-{index}", f"sched-{index % row.namespaces + 1}")
        for index in range(10_000)
    )


if __name__ == "__main__":
    report()
