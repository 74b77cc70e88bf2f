"""The workloads of scheduler_perf, by their public names, for a cluster of any size.

Four are our own: MixedSizes, in which no two nodes are alike, ManyOwners, DeviceClaims, and
NewDeviceSelectors, in which every claim has a selector that no claim had before.

A workload consists of the objects that exist before and the pods that are scheduled. The numbers
are scheduler_perf's at 5,000 nodes, scaled with the size of the cluster.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from benchmarks.objects import (
    DRIVERS,
    HOSTNAME,
    ZONE,
    PodTemplate,
    make_claim,
    make_device_class,
    make_nodes,
    make_slices,
)
from mooring.api import KubeObject, Pod, decode

#: The namespaces of the workloads whose terms name two.
_BOTH = ["sched-0", "sched-1"]


class Workload(msgspec.Struct):
    """A cluster and the pods to schedule in it."""

    objects: list[KubeObject]
    pods: Iterator[Pod]
    #: How many of the pods are measured.
    measured: int
    #: Whether preemptions are measured.
    preempts: bool = False
    #: Pods per sample; the loop over the nodes is timed between samples.
    sample: int = 50


Make = Callable[[int, int], Workload]


def _spread(template: PodTemplate, count: int, nodes: int, namespace: str = "sched-0") -> list[Pod]:
    """Return running pods, distributed over the nodes in turn."""
    return [template.make(f"before-{i}", namespace, f"node-{i % nodes}") for i in range(count)]


def _pending(template: PodTemplate, count: int, namespace: str = "sched-1") -> Iterator[Pod]:
    return (template.make(f"pod-{i}", namespace) for i in range(count))


def _pod_term(color: str, key: str, **more: Any) -> dict[str, Any]:
    return {
        "labelSelector": {"matchLabels": {"color": color}},
        "topologyKey": key,
        "namespaces": _BOTH,
        **more,
    }


def _required(kind: str, term: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _preferred(kind: str, term: dict[str, Any]) -> dict[str, Any]:
    weighted = {"weight": 1, "podAffinityTerm": term}
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}}


def _scaled(number: int, nodes: int) -> int:
    return max(1, number * nodes // 5000)


def basic(nodes: int, before: int) -> Workload:
    """SchedulingBasic: plain pods."""
    template = PodTemplate()
    objects = [*make_nodes(nodes, 3), *_spread(template, before or _scaled(1000, nodes), nodes)]
    return Workload(objects, _pending(template, 10_000), 4000)


def mixed_sizes(nodes: int, before: int) -> Workload:
    """MixedSizes: pods of 400 sizes, so that soon no two nodes are alike."""
    chance = random.Random(1)
    templates = [
        PodTemplate(cpu=f"{chance.randint(10, 150)}m", memory=f"{chance.randint(64, 512)}Mi")
        for _ in range(400)
    ]
    objects = [
        *make_nodes(nodes, 3),
        *(
            chance.choice(templates).make(f"before-{i}", "sched-0", f"node-{i % nodes}")
            for i in range(before or 4 * nodes)
        ),
    ]
    pods = (chance.choice(templates).make(f"pod-{i}", "sched-1") for i in range(10_000))
    return Workload(objects, pods, 4000)


def node_affinity(nodes: int, before: int) -> Workload:
    """SchedulingNodeAffinity: zone In (zone1, zone2)."""
    expression = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    template = PodTemplate(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    )
    objects = [
        *make_nodes(nodes, 3),
        *_spread(template, before or _scaled(5000, nodes), nodes),
    ]
    return Workload(objects, _pending(template, 10_000), 4000)


def topology_spreading(nodes: int, before: int) -> Workload:
    """TopologySpreading: maxSkew 5 over three zones, DoNotSchedule."""
    return _topology(nodes, before, "DoNotSchedule")


def preferred_topology_spreading(nodes: int, before: int) -> Workload:
    """PreferredTopologySpreading: maxSkew 5 over three zones, ScheduleAnyway."""
    return _topology(nodes, before, "ScheduleAnyway")


def _topology(nodes: int, before: int, when: str) -> Workload:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    template = PodTemplate(labels={"color": "blue"}, topologySpreadConstraints=[constraint])
    existing, namespace = (template, "sched-1") if before else (PodTemplate(), "sched-0")
    objects = [
        *make_nodes(nodes, 3),
        *_spread(existing, before or _scaled(5000, nodes), nodes, namespace),
    ]
    return Workload(objects, _pending(template, 10_000), 3000)


def pod_affinity(nodes: int, before: int) -> Workload:
    """SchedulingPodAffinity: required, color=blue, zone; all nodes in one zone."""
    template = PodTemplate(
        labels={"color": "blue"}, **_required("podAffinity", _pod_term("blue", ZONE))
    )
    objects = [*make_nodes(nodes), *_spread(template, before or _scaled(5000, nodes), nodes)]
    return Workload(objects, _pending(template, 5000), 3000)


def pod_anti_affinity(nodes: int, before: int) -> Workload:
    """SchedulingPodAntiAffinity: required, color=green, hostname."""
    template = PodTemplate(
        labels={"color": "green", "name": "test"},
        **_required("podAntiAffinity", _pod_term("green", HOSTNAME)),
    )
    count = before or _scaled(1000, nodes)
    objects = [*make_nodes(nodes, 3), *_spread(template, count, nodes)]
    return Workload(objects, _pending(template, max(1, nodes - count)), _scaled(2000, nodes))


def preferred_pod_affinity(nodes: int, before: int) -> Workload:
    """SchedulingPreferredPodAffinity: weight 1, color=red, hostname."""
    template = PodTemplate(
        labels={"color": "red"}, **_preferred("podAffinity", _pod_term("red", HOSTNAME))
    )
    objects = [*make_nodes(nodes, 3), *_spread(template, before or _scaled(5000, nodes), nodes)]
    return Workload(objects, _pending(template, 5000), 3000)


def mixed_base_pod(nodes: int, before: int) -> Workload:
    """MixedSchedulingBasePod: plain pods among pods of every kind of affinity."""
    kinds = {
        "plain": PodTemplate(),
        "affinity": PodTemplate(
            labels={"color": "blue"}, **_required("podAffinity", _pod_term("blue", ZONE))
        ),
        "anti": PodTemplate(
            labels={"color": "green"},
            **_required("podAntiAffinity", _pod_term("green", HOSTNAME)),
        ),
        "preferred": PodTemplate(
            labels={"color": "red"}, **_preferred("podAffinity", _pod_term("red", HOSTNAME))
        ),
        "preferred-anti": PodTemplate(
            labels={"color": "yellow"},
            **_preferred("podAntiAffinity", _pod_term("yellow", HOSTNAME)),
        ),
    }
    count = (before or _scaled(10_000, nodes)) // len(kinds)
    objects: list[KubeObject] = [*make_nodes(nodes)]
    for offset, (kind, template) in enumerate(kinds.items()):
        objects += [
            template.make(f"{kind}-{i}", "sched-0", f"node-{(offset * count + i) % nodes}")
            for i in range(count)
        ]
    return Workload(objects, _pending(kinds["plain"], 10_000), 3000)


def anti_affinity_with_namespace_selector(nodes: int, before: int) -> Workload:
    """SchedulingRequiredPodAntiAffinityWithNSSelector: 100 namespaces chosen by label."""
    term = {
        "labelSelector": {"matchLabels": {"color": "green"}},
        "topologyKey": HOSTNAME,
        "namespaceSelector": {"matchLabels": {"team": "devops"}},
    }
    template = PodTemplate(labels={"color": "green"}, **_required("podAntiAffinity", term))
    nodes = nodes * 6 // 5
    objects: list[KubeObject] = [*make_nodes(nodes, 3)]
    for i in range(100):
        namespace = f"init-ns-{i}"
        labels = {"team": "devops", "kubernetes.io/metadata.name": namespace}
        objects.append(
            decode(
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {"name": namespace, "labels": labels},
                }
            )
        )
    per_namespace = max(1, _scaled(40, nodes * 5 // 6))
    objects += [
        template.make(f"before-{i}", f"init-ns-{i % 100}", f"node-{i % nodes}")
        for i in range(100 * per_namespace)
    ]
    left = nodes - 100 * per_namespace
    return Workload(objects, _pending(template, max(1, left), "init-ns-0"), min(2000, left))


def secrets(nodes: int, before: int) -> Workload:
    """SchedulingSecrets: pods with a secret volume."""
    template = PodTemplate(volumes=[{"name": "secret", "secret": {"secretName": "secret"}}])
    objects = [*make_nodes(nodes, 3), *_spread(template, before or _scaled(1000, nodes), nodes)]
    return Workload(objects, _pending(template, 10_000), 3000)


def unschedulable(nodes: int, before: int) -> Workload:
    """Unschedulable: plain pods, with pods that fit nowhere in between."""
    plain, huge = PodTemplate(), PodTemplate(cpu="9", priority=10)

    def pods() -> Iterator[Pod]:
        for i in range(10_000):
            yield plain.make(f"pod-{i}", "sched-1")
            if i % 10 == 0:
                yield huge.make(f"huge-{i}", "sched-1")

    objects = [*make_nodes(nodes, 3), *_spread(plain, before or _scaled(100, nodes), nodes)]
    return Workload(objects, pods(), 3000)


def preemption(nodes: int, before: int) -> Workload:
    """PreemptionAsync: nodes full of low-priority pods; pods of nearly 3 CPU preempt.

    No two of these request the same, so that the dry run of one cannot be reused for the next.
    """
    low = PodTemplate(cpu="900m")
    objects = [*make_nodes(nodes, 3), *_spread(low, 4 * nodes, nodes)]
    measured = min(200, nodes)
    pods = (
        PodTemplate(cpu=f"{3000 - i}m", priority=100).make(f"pod-{i}", "sched-1")
        for i in range(min(300, nodes))
    )
    return Workload(objects, pods, measured, preempts=True)


def many_owners(nodes: int, before: int) -> Workload:
    """ManyOwners: 2,000 ReplicaSets, each with a Service and 20 pods, default spreading."""
    owners = _scaled(2000, nodes)
    templates = []
    objects: list[KubeObject] = [*make_nodes(nodes, 3)]
    for i in range(owners):
        labels = {"app": f"app-{i}", "tier": "web"}
        name = f"app-{i}"
        meta = {"name": name, "namespace": "sched-1", "uid": name}
        objects.append(
            decode(
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "metadata": meta,
                    "spec": {
                        "selector": {"matchLabels": labels},
                        "template": {"metadata": {"labels": labels}},
                    },
                }
            )
        )
        objects.append(
            decode(
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": meta,
                    "spec": {"selector": {"app": name}},
                }
            )
        )
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": name,
            "uid": name,
            "controller": True,
        }
        templates.append(PodTemplate(labels=labels, owner=owner, cpu="50m", memory="50Mi"))
    objects += [
        templates[i % owners].make(f"before-{i}", "sched-1", f"node-{(i * 7) % nodes}")
        for i in range(17 * owners)
    ]

    def pods() -> Iterator[Pod]:
        for i in range(3 * owners):
            yield templates[(i * 7) % owners].make(f"pod-{i}", "sched-1")

    return Workload(objects, pods(), 2 * owners)


def device_claims(nodes: int, before: int) -> Workload:
    """DeviceClaims: 8 devices per node; each pod has a claim for a large one of a driver."""
    return _claims(nodes, 1000, 'device.attributes["{driver}"].model == "large"')


def new_device_selectors(nodes: int, before: int) -> Workload:
    """NewDeviceSelectors: each pod has a claim with a selector of its own."""
    expression = 'device.attributes["{driver}"].model == "large" && {i} >= 0'
    return _claims(nodes, 200, expression)


def _claims(nodes: int, measured: int, expression: str) -> Workload:
    driver = DRIVERS[0]
    count = min(measured, _scaled(2 * measured, nodes)) + 50
    objects: list[KubeObject] = [
        *make_nodes(nodes, 3),
        *make_slices(nodes),
        make_device_class("gpu", f'device.driver == "{driver}"'),
    ]
    objects += [
        make_claim(f"pod-{i}", "gpu", expression.format(driver=driver, i=i)) for i in range(count)
    ]
    pods = (
        PodTemplate(resourceClaims=[{"name": "gpu", "resourceClaimName": f"pod-{i}"}]).make(
            f"pod-{i}", "sched-1"
        )
        for i in range(count)
    )
    return Workload(objects, pods, count - 50)


#: Every workload, and how many loops over the nodes a pod may cost at most, at 5,000 nodes.
WORKLOADS: dict[str, tuple[Make, float]] = {
    "SchedulingBasic": (basic, 1.5),
    "MixedSizes": (mixed_sizes, 2.0),
    "SchedulingNodeAffinity": (node_affinity, 1.5),
    "TopologySpreading": (topology_spreading, 2.5),
    "PreferredTopologySpreading": (preferred_topology_spreading, 2.5),
    "SchedulingPodAffinity": (pod_affinity, 2.5),
    "SchedulingPodAntiAffinity": (pod_anti_affinity, 2.5),
    "SchedulingPreferredPodAffinity": (preferred_pod_affinity, 2.5),
    "MixedSchedulingBasePod": (mixed_base_pod, 2.5),
    "SchedulingRequiredPodAntiAffinityWithNSSelector": (anti_affinity_with_namespace_selector, 2.5),
    "SchedulingSecrets": (secrets, 1.5),
    "Unschedulable": (unschedulable, 2.5),
    "PreemptionAsync": (preemption, 30.0),
    "ManyOwners": (many_owners, 2.5),
    "DeviceClaims": (device_claims, 6.0),
    "NewDeviceSelectors": (new_device_selectors, 60.0),
}
