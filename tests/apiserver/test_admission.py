"""What admission adds to pods, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.apiserver.api_server import PODS, ApiServer, pod


async def make(server: ApiServer, path: str, kind: str, version: str, **parts: Any) -> None:
    made = {"apiVersion": version, "kind": kind, **parts}
    response = await server.send("POST", path, made)
    assert response.code == 201, response.body


async def message(server: ApiServer, made: dict[str, Any]) -> str:
    response = await server.send("POST", PODS, made)
    assert response.code == 403
    return str(json.loads(response.body)["message"])


async def test_a_class_gives_priority_and_policy() -> None:
    server = ApiServer()
    await make(
        server,
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "PriorityClass",
        "scheduling.k8s.io/v1",
        metadata={"name": "high"},
        value=9,
        preemptionPolicy="Never",
        globalDefault=True,
    )
    spec = (await server.ask("POST", PODS, pod("p")))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("high", 9)
    assert spec["preemptionPolicy"] == "Never"
    assert "computed 9" in await message(server, pod("q", priority=1))
    assert "no PriorityClass" in await message(server, pod("q", priorityClassName="none"))


async def test_a_pod_needs_its_service_account() -> None:
    text = await message(ApiServer(), pod("p", serviceAccountName="ghost"))
    assert text.endswith('default/ghost: serviceaccount "ghost" not found')


async def test_tolerations_are_added_once() -> None:
    server = ApiServer()
    everything = [{"operator": "Exists"}]
    made = await server.ask("POST", PODS, pod("p", tolerations=everything))
    assert made["spec"]["tolerations"] == everything
    made = await server.ask("POST", PODS, pod("q"))
    assert [one["tolerationSeconds"] for one in made["spec"]["tolerations"]] == [300, 300]


async def test_limit_ranges_fill_and_bound() -> None:
    server = ApiServer()
    limit = {"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "3"}}
    await make(
        server,
        "/api/v1/namespaces/default/limitranges",
        "LimitRange",
        "v1",
        metadata={"name": "l"},
        spec={"limits": [limit]},
    )
    made = await server.ask("POST", PODS, pod("p"))
    assert made["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "2"}
    big = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "4"}}}
    assert "maximum cpu usage per Container is 3" in await message(
        server, pod("q", containers=[big])
    )


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
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in await message(
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
    assert "failed quota: q: must specify limits.cpu for: c" in await message(server, pod("a"))


async def test_a_quota_of_the_modest_counts_them_alone() -> None:
    server = ApiServer()
    await quota(server, "q", {"hard": {"pods": "0"}, "scopes": ["BestEffort"]}, {"pods": "0"})
    resources = {"requests": {"cpu": "1"}}
    container = {"name": "c", "image": "i", "resources": resources}
    assert (await server.send("POST", PODS, pod("a", containers=[container]))).code == 201
    assert "exceeded quota: q" in await message(server, pod("b"))


async def test_bounds_of_pods_and_claims() -> None:
    server = ApiServer()
    limits = [
        {"type": "Pod", "max": {"cpu": "1"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}},
    ]
    await make(
        server,
        "/api/v1/namespaces/default/limitranges",
        "LimitRange",
        "v1",
        metadata={"name": "l"},
        spec={"limits": limits},
    )
    resources = {"limits": {"cpu": "600m"}}
    two = [{"name": name, "image": "i", "resources": resources} for name in ("a", "b")]
    assert "maximum cpu usage per Pod is 1, but limit is 1200m" in await message(
        server, pod("p", containers=two)
    )
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    path = "/api/v1/namespaces/default/persistentvolumeclaims"
    response = await server.send("POST", path, claim)
    assert b"minimum storage usage per PersistentVolumeClaim is 1Gi" in response.body


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
async def test_a_pod_has_its_quality_of_service(resources: dict[str, Any], expected: str) -> None:
    container = {"name": "c", "image": "i", "resources": resources}
    made = await ApiServer().ask("POST", PODS, pod("p", containers=[container]))
    assert made["status"]["qosClass"] == expected


async def test_services_get_addresses_and_ports() -> None:
    server = ApiServer()
    services = "/api/v1/namespaces/default/services"
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]},
    }
    made = await server.ask("POST", services, body)
    assert made["spec"]["clusterIP"].startswith("10.0.0.")
    port = made["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port < 32768
    body["metadata"] = {"name": "t"}
    body["spec"] = {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}
    response = await server.send("POST", services, body)
    assert "provided port is already allocated" in json.loads(response.body)["message"]


async def test_low_addresses_are_drawn_when_no_other_is_left() -> None:
    server = ApiServer()
    services = "/api/v1/namespaces/default/services"
    drawn = []
    for i in range(253):  # The service `kubernetes` has the first address.
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"s{i}"},
            "spec": {"ports": [{"port": 80}]},
        }
        made = await server.ask("POST", services, body)
        drawn.append(int(made["spec"]["clusterIP"].rpartition(".")[2]))
    low = [address <= 16 for address in drawn]
    assert sum(low) == 15
    assert low == sorted(low)
    body["metadata"] = {"name": "one-too-many"}
    response = await server.send("POST", services, body)
    assert response.code == 500
    assert "range is full" in json.loads(response.body)["message"]


async def test_label_keys_become_part_of_selectors() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["app", "absent"],
        "mismatchLabelKeys": ["tier"],
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    body = pod("p", affinity=affinity)
    body["metadata"]["labels"]["tier"] = "x"
    made = await ApiServer().ask("POST", PODS, body)
    stored = made["spec"]["affinity"]["podAntiAffinity"]
    selector = stored["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]
    assert selector["matchExpressions"] == [
        {"key": "app", "operator": "In", "values": ["p"]},
        {"key": "tier", "operator": "NotIn", "values": ["x"]},
    ]
