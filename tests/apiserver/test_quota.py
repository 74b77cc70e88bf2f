from __future__ import annotations

from typing import Any

import pytest

from mooring.api.quantity import Quantity
from mooring.apiserver.quota import in_scope, is_of_claims, usage
from tests.apiserver.api_server import PODS, ApiServer, make, pod, refusal

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


async def quota(server: ApiServer, name: str, spec: dict[str, Any], used: dict[str, str]) -> None:
    """Create a quota with the status that a controller would give it."""
    await make(server, QUOTAS, "ResourceQuota", "v1", metadata={"name": name}, spec=spec)
    status = {"status": {"hard": spec["hard"], "used": used}}
    path, media = f"{QUOTAS}/{name}/status", "application/merge-patch+json"
    response = await server.send("PATCH", path, status, content_type=media)
    assert response.code == 200, response.body


async def test_a_quota_ends() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "1"}}, {"pods": "0"})
    await server.ask("POST", PODS, pod("a"))
    assert (await server.ask("GET", f"{QUOTAS}/q"))["status"]["used"] == {"pods": "1"}
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in await refusal(
        server, pod("b")
    )


async def test_a_dry_run_costs_nothing() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "1"}}, {"pods": "0"})
    await server.ask("POST", f"{PODS}?dryRun=All", pod("a"))
    assert (await server.ask("GET", f"{QUOTAS}/q"))["status"]["used"] == {"pods": "0"}


async def test_a_quota_without_a_status_does_not_bind() -> None:
    server = ApiServer()
    spec = {"hard": {"pods": "0"}}
    await make(server, QUOTAS, "ResourceQuota", "v1", metadata={"name": "q"}, spec=spec)
    assert (await server.send("POST", PODS, pod("a"))).code == 201


async def test_a_quota_of_cpu_wants_to_know_it() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"limits.cpu": "1"}}, {"limits.cpu": "0"})
    assert "failed quota: q: must specify limits.cpu for: c" in await refusal(server, pod("a"))


async def test_a_quota_of_the_modest_counts_them_alone() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}, {"pods": "0"})
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources}
    assert (await server.send("POST", PODS, pod("a", containers=[container]))).code == 201
    assert "exceeded quota: q" in await refusal(server, pod("b"))


USAGE: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "a pod": (
        "/v1/pods",
        {
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "resources": {
                            "requests": {"cpu": "1", "acme.io/gpu": "1"},
                            "limits": {"cpu": "2", "acme.io/gpu": "1"},
                        },
                    }
                ]
            }
        },
        {
            "count/pods": "1",
            "pods": "1",
            "requests.cpu": "1",
            "cpu": "1",
            "requests.acme.io/gpu": "1",
            "limits.cpu": "2",
        },
    ),
    "a pod that has ended": (
        "/v1/pods",
        {"spec": {}, "status": {"phase": "Failed"}},
        {
            "count/pods": "1",
        },
    ),
    "a service": (
        "/v1/services",
        {"spec": {"type": "ClusterIP", "ports": [{}]}},
        {
            "count/services": "1",
            "services": "1",
            "services.loadbalancers": "0",
            "services.nodeports": "0",
        },
    ),
    "ports of nodes": (
        "/v1/services",
        {"spec": {"type": "NodePort", "ports": [{}, {}]}},
        {
            "count/services": "1",
            "services": "1",
            "services.loadbalancers": "0",
            "services.nodeports": "2",
        },
    ),
    "a balancer without ports of nodes": (
        "/v1/services",
        {
            "spec": {
                "type": "LoadBalancer",
                "allocateLoadBalancerNodePorts": False,
                "ports": [{}, {"nodePort": 30000}],
            }
        },
        {
            "count/services": "1",
            "services": "1",
            "services.loadbalancers": "1",
            "services.nodeports": "1",
        },
    ),
    "a claim": (
        "/v1/persistentvolumeclaims",
        {"spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "fast"}},
        {
            "count/persistentvolumeclaims": "1",
            "persistentvolumeclaims": "1",
            "requests.storage": "1Gi",
            "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
            "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
        },
    ),
    "a config map": (
        "/v1/configmaps",
        {},
        {
            "count/configmaps": "1",
            "configmaps": "1",
        },
    ),
    "a job": (
        "batch/v1/jobs",
        {},
        {
            "count/jobs.batch": "1",
        },
    ),
}


@pytest.mark.parametrize(("path", "obj", "expected"), USAGE.values(), ids=USAGE)
def test_what_objects_use(path: str, obj: dict[str, Any], expected: dict[str, str]) -> None:
    found = usage(ApiServer().served(path), obj)
    assert {name: str(amount) for name, amount in found.items()} == expected
    assert all(isinstance(amount, Quantity) for amount in found.values())


def _scope(name: str, operator: str = "Exists", *values: str) -> dict[str, Any]:
    expression = {"scopeName": name, "operator": operator, "values": list(values)}
    return {"spec": {"scopeSelector": {"matchExpressions": [expression]}}}


_ELSEWHERE = {
    "podAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"podAffinityTerm": {"namespaceSelector": {}}}
        ]
    }
}
SCOPES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "no scope": ({}, {}, True),
    "a pod with a deadline": (_scope("Terminating"), {"spec": {"activeDeadlineSeconds": 5}}, True),
    "a pod without a deadline": (_scope("NotTerminating"), {}, True),
    "a modest pod": (_scope("BestEffort"), {"status": {"qosClass": "BestEffort"}}, True),
    "a demanding pod": (_scope("NotBestEffort"), {"status": {"qosClass": "Burstable"}}, True),
    "a pod that looks elsewhere": (
        _scope("CrossNamespacePodAffinity"),
        {"spec": {"affinity": _ELSEWHERE}},
        True,
    ),
    "a pod that does not": (_scope("CrossNamespacePodAffinity"), {}, False),
    "a class among others": (
        _scope("PriorityClass", "In", "high"),
        {"spec": {"priorityClassName": "high"}},
        True,
    ),
    "a class not among others": (
        _scope("PriorityClass", "NotIn", "high"),
        {"spec": {"priorityClassName": "high"}},
        False,
    ),
    "any class": (_scope("PriorityClass"), {"spec": {"priorityClassName": "high"}}, True),
    "no class": (_scope("PriorityClass", "DoesNotExist"), {}, True),
    "an unknown scope": (_scope("Sometimes"), {}, False),
}


@pytest.mark.parametrize(("quota", "obj", "expected"), SCOPES.values(), ids=SCOPES)
def test_scopes_of_pods(quota: dict[str, Any], obj: dict[str, Any], expected: bool) -> None:
    assert in_scope(ApiServer().served("/v1/pods"), quota, obj) is expected


def test_scopes_of_other_kinds() -> None:
    claims = ApiServer().served("/v1/persistentvolumeclaims")
    gold = {"spec": {"volumeAttributesClassName": "gold"}}
    assert in_scope(claims, _scope("VolumeAttributesClass", "In", "gold"), gold)
    assert not in_scope(claims, _scope("VolumeAttributesClass", "In", "iron"), gold)
    assert not in_scope(ApiServer().served("/v1/services"), _scope("BestEffort"), {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("requests.storage", True),
        ("fast.storageclass.storage.k8s.io/requests.storage", True),
        ("pods", False),
    ],
)
def test_resources_of_claims(name: str, expected: bool) -> None:
    assert is_of_claims(name) is expected


async def test_an_update_counts_what_it_adds() -> None:
    server = ApiServer()
    hard = {"requests.storage": "3Gi"}
    await quota(server, "q", {"hard": hard}, {"requests.storage": "0"})
    path = "/api/v1/namespaces/default/services"
    hard = {"services.nodeports": "1"}
    await quota(server, "r", {"hard": hard}, {"services.nodeports": "0"})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    await server.ask("POST", path, {**service, "spec": {"ports": [{"port": 80}]}})
    made = await server.ask("GET", f"{path}/s")
    made["spec"]["type"] = "NodePort"
    changed = await server.send("PUT", f"{path}/s", made)
    assert changed.code == 200
    assert (await server.ask("GET", f"{QUOTAS}/r"))["status"]["used"] == {"services.nodeports": "1"}
    other = {
        **service,
        "metadata": {"name": "t"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    }
    assert (await server.send("POST", path, other)).code == 403


async def test_a_quota_that_is_not_counted_yet() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "5", "requests.cpu": "1"}}, {"pods": "0"})
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    text = await refusal(server, pod("a", containers=[container]))
    assert "status unknown for quota: q, resources: requests.cpu" in text
