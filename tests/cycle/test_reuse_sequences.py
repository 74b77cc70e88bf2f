"""Decisions with reuse equal those without, whatever happens between them."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from mooring.api import DeviceClass, Node, Pod, Service, decode_as
from mooring.config.load import load_config_data
from mooring.cycle import reuse
from mooring.cycle.scheduling_cycle import by_name
from mooring.framework.decision import Decision
from mooring.framework.features import FeatureGates
from mooring.registry import default_registry
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.decisions import told

ZONE = "topology.kubernetes.io/zone"
GPU = "vendor.com/gpu"
WEB = {"app": "web"}
#: The default plugins, and weights other than 1 for those whose scores change with every pod.
CONFIG = load_config_data(
    {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": {
                    "multiPoint": {
                        "enabled": [
                            {"name": "NodeResourcesFit", "weight": 3},
                            {"name": "NodeResourcesBalancedAllocation", "weight": 2},
                        ]
                    }
                },
            }
        ],
    },
    registry=default_registry(),
    feature_gates=FeatureGates(),
)


def _term(**labels: str) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": labels}, "topologyKey": ZONE}


def _preferring(zone: str) -> dict[str, Any]:
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    preference = {"weight": 5, "preference": {"matchExpressions": [expression]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}


TEMPLATES: dict[str, dict[str, Any]] = {
    "plain": {"cpu": "500m"},
    "of another app": {"cpu": "500m", "labels": WEB},
    "with an image": {"cpu": "500m", "image": "big:1"},
    "with a smaller image": {"cpu": "500m", "image": "small:1"},
    "preferring a zone": {"cpu": "500m", "affinity": _preferring("a")},
    "preferring another zone": {"cpu": "500m", "affinity": _preferring("b")},
    "asking for nothing": {},
    "large": {"cpu": "3", "priority": 5},
    "with a port": {"host_ports": [80]},
    "for a zone": {"node_selector": {ZONE: "a"}},
    "tolerating": {"tolerations": ["old:NoSchedule"], "cpu": "1"},
    "with a device": {"requests": {GPU: 1}},
    "alone in its zone": {
        "labels": WEB,
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [_term(app="web")]
            }
        },
    },
    "near others": {
        "affinity": {
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 3, "podAffinityTerm": _term(app="web")}
                ]
            }
        }
    },
    "spread": {
        "labels": WEB,
        "spec": {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": WEB},
                }
            ]
        },
    },
    "for a named node": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                            ]
                        }
                    ]
                }
            }
        }
    },
}

NODES = st.builds(
    lambda cpu, zone, taint, cordoned, image, gpus: {
        "cpu": cpu,
        "pods": 5,
        "zone": zone,
        "taints": taint,
        "unschedulable": cordoned,
        "images": {"big:1": 900_000_000, "small:1": 300_000_000} if image else {},
        "resources": {GPU: gpus} if gpus else {},
    },
    st.sampled_from(["2", "4"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([[], [], ["old:NoSchedule"], ["worn:PreferNoSchedule"]]),
    st.sampled_from([False, False, False, True]),
    st.booleans(),
    st.sampled_from([0, 2]),
)
NAMES = st.sampled_from([f"n{i}" for i in range(8)])


class ReuseMachine(RuleBasedStateMachine):
    """Two schedulers in step, one with reuse and one without."""

    def __init__(self) -> None:
        super().__init__()
        self.constants = reuse.FEW, reuse.MOST
        self.pods: list[Pod] = []
        #: The last decision with reuse, and its contents; None once a node has changed.
        self.last: tuple[Decision, dict[str, Any]] | None = None
        self.count = 0

    @initialize(
        nodes=st.dictionaries(NAMES, NODES, min_size=1),
        few=st.sampled_from([0, 1, 6]),
        most=st.sampled_from([1, 1, 4]),
    )
    def start(self, nodes: dict[str, Any], few: int, most: int) -> None:
        reuse.FEW, reuse.MOST = few, most
        self.schedulers = [
            MemoryScheduler(choose=by_name, config=CONFIG, reuse=reused) for reused in (True, False)
        ]
        self.nodes: dict[str, Node] = {}
        for name, node in nodes.items():
            self.put_node(name, node)

    def teardown(self) -> None:
        reuse.FEW, reuse.MOST = self.constants

    def add(self, obj: Any) -> None:
        for scheduler in self.schedulers:
            scheduler.cluster.add(obj)

    def delete(self, obj: Any) -> None:
        for scheduler in self.schedulers:
            scheduler.cluster.delete(obj)

    @rule(template=st.sampled_from(sorted(TEMPLATES)), times=st.integers(1, 4))
    def schedule(self, template: str, times: int) -> None:
        for _ in range(times):
            self.count += 1
            pod = make_pod(f"p{self.count}", **TEMPLATES[template])
            self.pods.append(pod)
            self.add(pod)
            self.try_one(pod)

    @precondition(lambda self: self.pods)
    @rule(number=st.integers(0))
    def try_again(self, number: int) -> None:
        self.try_one(self.pods[number % len(self.pods)])

    def try_one(self, pod: Pod) -> None:
        current = [s.cluster.pods.get(pod.metadata.name, "default") for s in self.schedulers]
        if current[0] is None or current[0].spec.node_name:
            return
        first, second = (
            drive(scheduler.schedule_one(one))
            for scheduler, one in zip(self.schedulers, current, strict=True)
        )
        assert told(first) == told(second)
        if self.last is not None:
            decision, said = self.last
            assert told(decision) == said
        self.last = first, told(first)

    @precondition(lambda self: self.pods)
    @rule(number=st.integers(0))
    def delete_pod(self, number: int) -> None:
        self.delete(self.pods.pop(number % len(self.pods)))

    @rule(name=NAMES)
    def nominate(self, name: str) -> None:
        self.count += 1
        pod = make_pod(f"p{self.count}", cpu="2", priority=5, nominated_node=name)
        self.pods.append(pod)
        self.add(pod)

    @precondition(lambda self: self.pods)
    @rule(number=st.integers(0), app=st.sampled_from(["web", "db"]))
    def relabel_pod(self, number: int, app: str) -> None:
        name = self.pods[number % len(self.pods)].metadata.name
        for scheduler in self.schedulers:
            pod = scheduler.cluster.pods.get(name, "default")
            if pod is not None:
                metadata = replace(pod.metadata, labels={"app": app})
                scheduler.cluster.add(replace(pod, metadata=metadata))

    @rule(name=NAMES, node=NODES)
    def put_node(self, name: str, node: dict[str, Any]) -> None:
        self.last = None
        self.nodes[name] = make_node(name, **node)
        self.add(self.nodes[name])

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(number=st.integers(0))
    def delete_node(self, number: int) -> None:
        self.last = None
        self.delete(self.nodes.pop(sorted(self.nodes)[number % len(self.nodes)]))

    @rule(there=st.booleans())
    def toggle_service(self, there: bool) -> None:
        meta = {"name": "web", "namespace": "default"}
        service = decode_as({"metadata": meta, "spec": {"selector": WEB}}, Service)
        (self.add if there else self.delete)(service)

    @rule(there=st.booleans())
    def toggle_device_class(self, there: bool) -> None:
        spec = {"extendedResourceName": GPU}
        device_class = decode_as({"metadata": {"name": "gpus"}, "spec": spec}, DeviceClass)
        (self.add if there else self.delete)(device_class)

    @invariant()
    def believe_the_same(self) -> None:
        if hasattr(self, "schedulers"):
            first, second = ({p.key for p in s.cache.pods} for s in self.schedulers)
            assert first == second


ReuseMachine.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestReuseMachine = ReuseMachine.TestCase
