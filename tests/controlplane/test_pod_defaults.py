"""The defaults that the API server sets when a pod is created."""

from __future__ import annotations

import msgspec
import pytest

from mooring.api import Pod, WorkloadPodGroup, WorkloadPodGroupSpec, decode_as, encode
from mooring.api.meta import ObjectMeta
from mooring.api.workloads import PriorityClass
from mooring.controlplane.default_values import SYSTEM_PRIORITY_CLASSES
from mooring.controlplane.pod_defaults import default_pod, default_pod_group
from mooring.errors import ObjectError

SYSTEM = {found.name: found for found in SYSTEM_PRIORITY_CLASSES}


def defaulted(classes=SYSTEM, labels=None, **spec):
    raw = {"metadata": {"name": "a", "labels": labels or {}}, "spec": spec}
    pod = default_pod(decode_as(raw, Pod), classes)
    assert default_pod(pod, classes) == pod, "a pod from a server must stay as it is"
    return pod


def test_an_empty_pod():
    assert encode(defaulted()) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {"phase": "Pending"},
    }


def test_requests_come_from_limits_and_are_whole_thousandths():
    resources = {"requests": {"cpu": "0.5m"}, "limits": {"cpu": 1, "memory": "1Gi"}}
    pod = defaulted(containers=[{"name": "c", "resources": resources}])
    assert pod.spec.containers[0].resources.requests == {"cpu": "1m", "memory": "1Gi"}
    assert pod.spec.containers[0].resources.limits == {"cpu": 1, "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "resources", "requests"),
    [
        pytest.param(
            [{"requests": {"cpu": "1", "memory": "1Gi"}}, {"requests": {"memory": "1Gi"}}],
            {"limits": {"cpu": "4"}},
            {"cpu": "1", "memory": "2Gi"},
            id="the sum of the containers' requests where the pod has limits",
        ),
        pytest.param(
            [{}], {"limits": {"cpu": "4"}}, {"cpu": "4"}, id="the pod's limits where they ask none"
        ),
        pytest.param(
            [{"requests": {"memory": "1Gi"}}],
            {"requests": {"cpu": "1"}},
            {"cpu": "1"},
            id="nothing where the pod has no limits",
        ),
        pytest.param(
            [{"limits": {"hugepages-2Mi": "4Mi"}}],
            {"requests": {"cpu": "1"}},
            {"cpu": "1", "hugepages-2Mi": "4Mi"},
            id="huge pages from the containers' limits",
        ),
    ],
)
def test_pod_level_requests_are_completed(containers, resources, requests):
    pod = defaulted(
        containers=[{"name": f"c{i}", "resources": r} for i, r in enumerate(containers)],
        resources=resources,
    )
    assert pod.spec.resources.requests == requests


def test_ports_get_a_protocol_and_on_the_host_network_a_host_port():
    ports = [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "hostPort": 5353}]
    pod = defaulted(containers=[{"name": "c", "ports": ports}], hostNetwork=True)
    assert [(p.protocol, p.host_port) for p in pod.spec.containers[0].ports] == [
        ("TCP", 80),
        ("UDP", 5353),
    ]
    pod = defaulted(containers=[{"name": "c", "ports": ports}])
    assert pod.spec.containers[0].ports[0].host_port == 0


def priority_class(name, value, **fields):
    return PriorityClass(metadata=ObjectMeta(name=name), value=value, **fields)


@pytest.mark.parametrize(
    ("spec", "classes", "expected"),
    [
        pytest.param(
            {"priorityClassName": "system-node-critical"},
            [],
            (2000001000, "PreemptLowerPriority", "system-node-critical"),
            id="a class that every cluster has",
        ),
        pytest.param(
            {"priorityClassName": "low"},
            [priority_class("low", -5, preemption_policy="Never")],
            (-5, "Never", "low"),
            id="a class of the cluster's own",
        ),
        pytest.param(
            {},
            [
                priority_class("a", 10, global_default=True),
                priority_class("b", 5, global_default=True),
            ],
            (5, "PreemptLowerPriority", "b"),
            id="the lowest global default",
        ),
        pytest.param({}, [], (0, "PreemptLowerPriority", ""), id="zero where there is none"),
        pytest.param(
            {"priority": 7, "priorityClassName": "gone"},
            [],
            (7, "PreemptLowerPriority", "gone"),
            id="what a server computed stays",
        ),
    ],
)
def test_priority(spec, classes, expected):
    found = defaulted(SYSTEM | {c.name: c for c in classes}, **spec).spec
    assert (found.priority, found.preemption_policy, found.priority_class_name) == expected


def test_an_unknown_priority_class_is_refused():
    with pytest.raises(ObjectError, match="no PriorityClass with name nope was found"):
        defaulted(priorityClassName="nope")


def expression(operator, key, value):
    return {"key": key, "operator": operator, "values": [value]}


def test_label_keys_are_merged_into_selectors():
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "matchLabelKeys": ["hash", "absent"],
        "mismatchLabelKeys": ["tenant"],
    }
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    pod = defaulted(
        labels={"app": "x", "hash": "1", "tenant": "t"},
        affinity={
            "podAffinity": {required: [term]},
            "podAntiAffinity": {preferred: [{"weight": 1, "podAffinityTerm": term}]},
        },
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {},
                "matchLabelKeys": ["hash"],
            },
            {"topologyKey": "host", "matchLabelKeys": ["hash"]},
        ],
    )
    spec = encode(pod)["spec"]
    merged = [expression("In", "hash", "1"), expression("NotIn", "tenant", "t")]
    affinity = spec["affinity"]
    assert affinity["podAffinity"][required][0]["labelSelector"]["matchExpressions"] == merged
    weighted = affinity["podAntiAffinity"][preferred][0]["podAffinityTerm"]
    assert weighted["labelSelector"]["matchExpressions"] == merged
    first, second = spec["topologySpreadConstraints"]
    assert first["labelSelector"] == {"matchExpressions": [expression("In", "hash", "1")]}
    assert "labelSelector" not in second


def test_a_gated_pod_says_so():
    pod = defaulted(schedulingGates=[{"name": "g"}])
    (condition,) = pod.status.conditions
    assert (condition.type, condition.status, condition.reason) == (
        "PodScheduled",
        "False",
        "SchedulingGated",
    )


def test_a_pod_group_gets_the_priority_of_its_class_and_is_disrupted_pod_by_pod() -> None:
    urgent = PriorityClass(metadata=ObjectMeta(name="urgent"), value=7)
    spec = WorkloadPodGroupSpec(priority_class_name="urgent")
    group = WorkloadPodGroup(metadata=ObjectMeta(name="g", namespace="n"), spec=spec)
    made = default_pod_group(group, {"urgent": urgent})
    assert (made.priority, made.is_disrupted_whole) == (7, False)
    assert made.spec.disruption_mode is not None
    with pytest.raises(ObjectError, match="no PriorityClass with name urgent was found"):
        default_pod_group(group, {})
    given = msgspec.structs.replace(group, spec=msgspec.structs.replace(spec, priority=3))
    assert default_pod_group(given, {}).priority == 3
    assert default_pod_group(WorkloadPodGroup(), {}).priority == 0
