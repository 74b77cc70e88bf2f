from __future__ import annotations

import pytest

from mooring.apiserver.validation.statuses import (
    check_autoscaler_status,
    check_conditions,
    check_migration_status,
)
from tests.apiserver.validation.objects import (
    Object,
    made,
    template,
    texts,
    update_refusals,
    workload,
)

COUNTS: dict[str, tuple[str, Object, Object, list[str]]] = {
    "a deployment": (
        "Deployment",
        {},
        {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1},
        [],
    ),
    "negative counts of a deployment": (
        "Deployment",
        {},
        {"replicas": -1, "observedGeneration": -1},
        [
            "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0",
            "status.replicas: Invalid value: -1: must be greater than or equal to 0",
            "status.updatedReplicas: Invalid value: 0: cannot be greater than status.replicas",
            "status.readyReplicas: Invalid value: 0: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 0: cannot be greater than status.replicas",
        ],
    ),
    "more ready replicas than replicas": (
        "Deployment",
        {},
        {"replicas": 1, "readyReplicas": 2},
        ["status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    ),
    "more available replicas than ready ones": (
        "Deployment",
        {},
        {"replicas": 1, "availableReplicas": 1},
        ["status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"],
    ),
    "collisions that fall": (
        "Deployment",
        {"collisionCount": 2},
        {"collisionCount": 1},
        ["status.collisionCount: Invalid value: 1: cannot be decremented"],
    ),
    "collisions that are forgotten": (
        "Deployment",
        {"collisionCount": 2},
        {},
        ["status.collisionCount: Invalid value: 0: cannot be decremented"],
    ),
    "a replica set with too many labels": (
        "ReplicaSet",
        {},
        {"replicas": 1, "fullyLabeledReplicas": 2},
        ["status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas"],
    ),
    "a stateful set with too many updates": (
        "StatefulSet",
        {},
        {"replicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        [
            "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
            "status.availableReplicas: Invalid value: 1: cannot be greater than "
            "status.readyReplicas",
        ],
    ),
    "negative counts of a daemon set": (
        "DaemonSet",
        {"collisionCount": 1},
        {"numberReady": -1, "collisionCount": 0},
        [
            "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
            "status.collisionCount: Invalid value: 0: cannot be decremented",
        ],
    ),
}


@pytest.mark.parametrize(("kind", "before", "status", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts_of_workloads(
    kind: str, before: Object, status: Object, expected: list[str]
) -> None:
    old = workload(kind)
    old["status"] = {**before}
    assert update_refusals(old, {"status": dict.fromkeys(before) | status}, "status") == expected


JOBS: dict[str, tuple[Object, Object, list[str]]] = {
    "a job that runs": ({}, {"active": 1, "ready": 1}, []),
    "more ready pods than active ones": (
        {},
        {"active": 1, "ready": 2},
        ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
    ),
    "counters that fall": (
        {"succeeded": 2, "failed": 2},
        {"succeeded": 1, "failed": 1},
        [
            "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter",
            "status.failed: Invalid value: 1: cannot decrease the failed counter",
        ],
    ),
    "negative counts": (
        {},
        {"active": -1, "terminating": -1},
        [
            "status.active: Invalid value: -1: must be greater than or equal to 0",
            "status.terminating: Invalid value: -1: must be greater than or equal to 0",
        ],
    ),
}


@pytest.mark.parametrize(("before", "status", "expected"), JOBS.values(), ids=JOBS)
def test_counts_of_jobs(before: Object, status: Object, expected: list[str]) -> None:
    old = made("batch/v1", "Job", spec={"template": template(restartPolicy="Never")})
    old["status"] = before
    assert update_refusals(old, {"status": status}, "status") == expected


@pytest.mark.parametrize(
    ("version", "kind", "status", "expected"),
    [
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"currentReplicas": -1},
            ["status.currentReplicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "policy/v1",
            "PodDisruptionBudget",
            {"currentHealthy": -1},
            ["status.currentHealthy: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "v1",
            "ReplicationController",
            {"replicas": 0, "readyReplicas": 1},
            ["status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas"],
        ),
    ],
    ids=["an autoscaler", "a budget", "a replication controller"],
)
def test_other_counts(version: str, kind: str, status: Object, expected: list[str]) -> None:
    spec = (
        {"maxReplicas": 1, "scaleTargetRef": {"kind": "a", "name": "b"}}
        if "auto" in version
        else {}
    )
    assert update_refusals(made(version, kind, spec=spec), {"status": status}, "status") == expected


BALANCERS: dict[str, tuple[str, Object, list[str]]] = {
    "an address": ("LoadBalancer", {"ip": "1.2.3.4", "ipMode": "VIP"}, []),
    "an address of a service without a balancer": (
        "ClusterIP",
        {"ip": "1.2.3.4"},
        [
            "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` "
            "is 'LoadBalancer'"
        ],
    ),
    "an address without its mode": (
        "LoadBalancer",
        {"ip": "x"},
        [
            'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP '
            "address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "status.loadBalancer.ingress[0].ipMode: Required value: must be specified "
            "when `ip` is set",
        ],
    ),
    "a mode without an address": (
        "LoadBalancer",
        {"hostname": "A", "ipMode": "VIP"},
        [
            'status.loadBalancer.ingress[0].hostname: Invalid value: "A": <subdomain>',
            "status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when "
            "`ip` is not set",
        ],
    ),
    "an unknown mode": (
        "LoadBalancer",
        {"ip": "1.2.3.4", "ipMode": "Own"},
        [
            'status.loadBalancer.ingress[0].ipMode: Unsupported value: "Own": supported '
            'values: "Proxy", "VIP"'
        ],
    ),
    "an address as a name": (
        "LoadBalancer",
        {"hostname": "1.2.3.4"},
        [
            'status.loadBalancer.ingress[0].hostname: Invalid value: "1.2.3.4": must be '
            "a DNS name, not an IP address"
        ],
    ),
}


@pytest.mark.parametrize(("kind", "ingress", "expected"), BALANCERS.values(), ids=BALANCERS)
def test_addresses_of_services(kind: str, ingress: Object, expected: list[str]) -> None:
    old = made("v1", "Service", spec={"type": kind, "ports": [{"port": 80}]})
    change = {"status": {"loadBalancer": {"ingress": [ingress]}}}
    assert update_refusals(old, change, "status") == expected


def test_addresses_of_ingresses() -> None:
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    old = made("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": backend})
    change = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "A"}]}}}
    assert update_refusals(old, change, "status") == [
        'status.loadBalancer.ingress[1].hostname: Invalid value: "A": <subdomain>'
    ]


_GOOD = {"type": "a", "status": "True", "reason": "R", "lastTransitionTime": "t"}
CONDITIONS: dict[str, tuple[list[Object], list[str]]] = {
    "a condition": ([_GOOD], []),
    "one twice": ([_GOOD, _GOOD], ['f[1]: Duplicate value: "a"']),
    "a bad type and status": (
        [_GOOD | {"type": "a b", "status": "Maybe"}],
        [
            'f[0].type: Invalid value: "a b": <qualified name>',
            'f[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        ],
    ),
    "an empty one": (
        [{}],
        [
            "f[0].type: Required value: is required",
            "f[0].status: Required value",
            "f[0].lastTransitionTime: Required value",
            "f[0].reason: Required value",
        ],
    ),
    "a bad reason and a negative generation": (
        [_GOOD | {"reason": "1 2", "observedGeneration": -1}],
        [
            "f[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
            'f[0].reason: Invalid value: "1 2": a condition reason must start with '
            "alphabetic character, optionally followed by a string of alphanumeric "
            "characters or '_,:', and must end with an alphanumeric character or '_' "
            "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
            "'ReasonA:ReasonB', regex used for validation is "
            "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
        ],
    ),
    "long texts": (
        [_GOOD | {"reason": "R" * 1025, "message": "m" * 32769}],
        [
            "f[0].reason: Too long: may not be more than 1024 bytes",
            "f[0].message: Too long: may not be more than 32768 bytes",
        ],
    ),
}


@pytest.mark.parametrize(("conditions", "expected"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions(conditions: list[Object], expected: list[str]) -> None:
    assert texts(check_conditions({"conditions": conditions}, "f")) == expected


def _ended(*types: str) -> Object:
    return {"conditions": [_GOOD | {"type": one} for one in types]}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({}, _ended("Succeeded"), [], id="it succeeds"),
        pytest.param(
            {},
            _ended("Succeeded", "Failed"),
            ["Both success and failed conditions cannot be true at the same time"],
            id="it succeeds and fails",
        ),
        pytest.param(
            _ended("Succeeded"),
            _ended("Running"),
            ["Success condition cannot be set to false once it is true"],
            id="it did not succeed after all",
        ),
        pytest.param(
            _ended("Failed"),
            {"resourceVersion": "5"},
            ["Failed condition cannot be set to false once it is true"],
            id="it did not fail after all",
        ),
        pytest.param(
            {"resourceVersion": "5"},
            {"resourceVersion": "6"},
            ["field is immutable"],
            id="another version",
        ),
    ],
)
def test_the_end_of_a_migration(before: Object, after: Object, expected: list[str]) -> None:
    problems = check_migration_status({"status": after}, {"status": before})
    assert [one.message.rpartition(": ")[2] for one in problems] == expected


def test_the_generation_of_an_autoscaler_is_not_negative() -> None:
    status = {"conditions": [{"type": "C", "observedGeneration": -1}]}
    assert texts(check_autoscaler_status({"status": status}, {})) == [
        "status.conditions[0].observedGeneration: Invalid value: -1: must be greater than or "
        "equal to 0"
    ]
