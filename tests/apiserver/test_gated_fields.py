"""Fields whose feature gates are off are dropped, unless the stored object has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.api_server import GROUP_GATES, PODS, ApiServer, pod

BETA = "scheduling.k8s.io/v1beta1"
ROOT = f"/apis/{BETA}/namespaces/default"
COMPOSITES = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups"
ONLY_GROUPS = frozenset({"GenericWorkload"})
GROUPS = f"{ROOT}/podgroups"
REFERENCE = {"workloadName": "w", "templateName": "t"}
GATED = {
    "schedulingConstraints": {"topology": [{"key": "rack"}]},
    "resourceClaims": [{"name": "c", "resourceClaimName": "x"}],
    "preemptionPolicy": "PreemptLowerPriority",
}


def _group(**spec: Any) -> dict[str, Any]:
    policy = {"schedulingPolicy": {"basic": {}}, "workloadRef": REFERENCE}
    return {
        "apiVersion": BETA,
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {**policy, **spec},
    }


async def test_the_fields_of_a_group() -> None:
    given = _group(**GATED, parentCompositePodGroupName="p")
    made = await ApiServer(features=ONLY_GROUPS).ask("POST", GROUPS, given)
    assert made["spec"].keys() == {
        "schedulingPolicy",
        "workloadRef",
        "disruptionMode",
        "priority",
    }
    every = GROUP_GATES | {"DRAWorkloadResourceClaims"}
    made = await ApiServer(features=every).ask("POST", GROUPS, given)
    assert made["spec"] == given["spec"] | {"disruptionMode": {"single": {}}, "priority": 0}


async def test_a_group_keeps_what_it_has_when_a_gate_is_turned_off() -> None:
    server = ApiServer(features=GROUP_GATES)
    made = await server.ask("POST", GROUPS, _group(**GATED))
    server.cluster.features = ONLY_GROUPS
    made["metadata"]["labels"] = {"a": "b"}
    changed = await server.ask("PUT", f"{GROUPS}/g", made)
    assert changed["spec"] == made["spec"]
    change = {"spec": {"schedulingConstraints": {"topology": []}}}
    merge = "application/merge-patch+json"
    answer = await server.ask("PATCH", f"{GROUPS}/g", change, content_type=merge)
    assert answer["details"]["causes"] == [
        {
            "reason": "FieldValueForbidden",
            "message": "Forbidden",
            "field": "spec.schedulingConstraints",
        }
    ]


@pytest.mark.parametrize("claims", [False, True])
async def test_the_claims_in_the_status_of_a_group(claims: bool) -> None:
    features = ONLY_GROUPS | ({"DRAWorkloadResourceClaims"} if claims else set())
    server = ApiServer(features=features)
    await server.ask("POST", GROUPS, _group(**GATED))
    status = {"status": {"resourceClaimStatuses": [{"name": "c"}]}}
    merge = "application/merge-patch+json"
    found = await server.ask("PATCH", f"{GROUPS}/g/status", status, content_type=merge)
    assert found["status"] == (status["status"] if claims else {})


async def test_the_templates_of_a_workload() -> None:
    template = {"name": "t", "schedulingPolicy": {"basic": {}}, **GATED}
    composite = {
        "name": "c",
        "schedulingPolicy": {"basic": {}},
        "preemptionPolicy": "Never",
        "podGroupTemplates": [template],
    }
    workload = {"apiVersion": BETA, "kind": "Workload", "metadata": {"name": "w"}}
    flat = {**workload, "spec": {"podGroupTemplates": [template]}}
    made = await ApiServer(features=ONLY_GROUPS).ask("POST", f"{ROOT}/workloads", flat)
    assert made["spec"]["podGroupTemplates"] == [
        {"name": "t", "schedulingPolicy": {"basic": {}}, "schedulingConstraints": None}
    ]
    tree = {**workload, "spec": {"compositePodGroupTemplates": [composite]}}
    refused = await ApiServer(features=ONLY_GROUPS).ask("POST", f"{ROOT}/workloads", tree)
    assert "must specify one of" in refused["message"]
    some = frozenset({"GenericWorkload", "CompositePodGroup"})
    made = await ApiServer(features=some).ask("POST", f"{ROOT}/workloads", tree)
    (found,) = made["spec"]["compositePodGroupTemplates"]
    assert "preemptionPolicy" not in found
    assert found["podGroupTemplates"][0].keys() == {
        "name",
        "schedulingPolicy",
        "schedulingConstraints",
    }


async def test_the_default_of_a_composite_group() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "c"},
        "spec": {"schedulingPolicy": {"basic": {}}, "workloadRef": REFERENCE},
    }
    made = await ApiServer(features=GROUP_GATES).ask("POST", COMPOSITES, group)
    assert made["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    fewer = GROUP_GATES - {"PodGroupPreemptionPolicy"}
    group["spec"] |= {"preemptionPolicy": "PreemptLowerPriority"}
    made = await ApiServer(features=fewer).ask("POST", COMPOSITES, group)
    assert "preemptionPolicy" not in made["spec"]


@pytest.mark.parametrize(
    ("path", "version", "kind", "around"),
    [
        pytest.param(PODS, "v1", "Pod", (), id="a pod"),
        pytest.param(
            "/apis/batch/v1/namespaces/default/jobs",
            "batch/v1",
            "Job",
            ("spec", "template"),
            id="a job",
        ),
        pytest.param(
            "/apis/batch/v1/namespaces/default/cronjobs",
            "batch/v1",
            "CronJob",
            ("spec", "jobTemplate", "spec", "template"),
            id="a cron job",
        ),
    ],
)
async def test_the_group_of_a_pod(
    path: str, version: str, kind: str, around: tuple[str, ...]
) -> None:
    group = {"podGroupName": "g"}
    inner: dict[str, Any] = {"spec": pod("p", schedulingGroup=group, restartPolicy="Never")["spec"]}
    for name in reversed(around):
        inner = {name: inner}
    if kind == "CronJob":
        inner["spec"]["schedule"] = "* * * * *"
    given = {"apiVersion": version, "kind": kind, "metadata": {"name": "p"}, **inner}
    for features, expected in ((frozenset[str](), None), (ONLY_GROUPS, group)):
        made = await ApiServer(features=features).ask("POST", path, given)
        for name in (*around, "spec"):
            made = made[name]
        assert made.get("schedulingGroup") == expected


SLICES = "/apis/resource.k8s.io/v1/resourceslices"
TAKES = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
ON = frozenset({"DRANodeAllocatableResources"})


def _slice(*devices: dict[str, Any]) -> dict[str, Any]:
    spec = {
        "driver": "d.io",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"d{i}", **device} for i, device in enumerate(devices)],
    }
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return {**kind, "metadata": {"name": "s"}, "spec": spec}


async def test_node_resources_that_devices_consume() -> None:
    given = _slice({"nodeAllocatableResources": TAKES})
    server = ApiServer()
    made = await server.ask("POST", SLICES, given)
    assert made["spec"]["devices"] == [{"name": "d0"}]
    server = ApiServer(features=ON)
    node = {"metadata": {"name": "n"}, "status": {"declaredFeatures": [*ON]}}
    server.store.put("/nodes", "n", node)
    made = await server.ask("POST", SLICES, given)
    assert made["spec"]["devices"][0]["nodeAllocatableResources"] == TAKES
    # A slice that has such fields keeps them, and may get more of them.
    server.cluster.features = frozenset()
    made["spec"]["devices"] += [{"name": "d1", "nodeAllocatableResources": TAKES}]
    changed = await server.ask("PUT", f"{SLICES}/s", made)
    assert changed["spec"]["devices"] == made["spec"]["devices"]


async def test_node_resources_of_claims_in_the_status_of_a_pod() -> None:
    claims = [{"name": "g", "resourceClaimName": "c"}]
    told = [{"resourceClaimName": "c"}]
    patch = {"status": {"nodeAllocatableResourceClaimStatuses": told}}
    merge = "application/merge-patch+json"
    for features, expected in ((frozenset[str](), None), (ON, told)):
        server = ApiServer(features=features)
        await server.ask("POST", PODS, pod("p", resourceClaims=claims))
        found = await server.ask("PATCH", f"{PODS}/p/status", patch, content_type=merge)
        assert found["status"].get("nodeAllocatableResourceClaimStatuses") == expected
    server.cluster.features = frozenset()
    patch = {"metadata": {"labels": {"a": "b"}}}
    found = await server.ask("PATCH", f"{PODS}/p/status", patch, content_type=merge)
    assert found["status"]["nodeAllocatableResourceClaimStatuses"] == told


RESOURCE = "/apis/resource.k8s.io/v1"
DERIVED = [{"name": "x.io/a", "expression": "device.driver"}]


def _devices() -> dict[str, Any]:
    exactly = {"deviceClassName": "c", "derivedAttributes": DERIVED}
    part = {"name": "p", "deviceClassName": "c", "derivedAttributes": DERIVED}
    requests = [{"name": "r", "exactly": exactly}, {"name": "s", "firstAvailable": [part]}]
    return {"devices": {"requests": requests, "constraints": [{"matchAttribute": "x.io/a"}]}}


def _derived_in(spec: dict[str, Any]) -> list[Any]:
    one, other = spec["devices"]["requests"]
    parts = (one["exactly"], other["firstAvailable"][0])
    return [part.get("derivedAttributes") for part in parts]


@pytest.mark.parametrize("on", [False, True])
async def test_the_derived_attributes_of_claims_and_templates(on: bool) -> None:
    server = ApiServer(features=frozenset({"DRADerivedAttributes"} if on else ()))
    root, version = f"{RESOURCE}/namespaces/default", {"apiVersion": "resource.k8s.io/v1"}
    claim = {**version, "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": _devices()}
    made = await server.ask("POST", f"{root}/resourceclaims", claim)
    assert _derived_in(made["spec"]) == ([DERIVED, DERIVED] if on else [None, None])
    template = {**claim, "kind": "ResourceClaimTemplate", "spec": {"spec": _devices()}}
    made = await server.ask("POST", f"{root}/resourceclaimtemplates", template)
    assert _derived_in(made["spec"]["spec"]) == ([DERIVED, DERIVED] if on else [None, None])


def _counting_slice(*groups: str) -> dict[str, Any]:
    counters = {"m": {"value": "1"}}
    one = {"counterSet": "c", "counters": counters, "compatibilityGroups": list(groups)}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "d", "consumesCounters": [one]}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d.io", "nodeName": "n", "pool": pool, "devices": devices},
    }


def _groups_in(one: dict[str, Any]) -> Any:
    return one["spec"]["devices"][0]["consumesCounters"][0].get("compatibilityGroups")


async def test_the_compatibility_groups_of_a_slice_with_counters() -> None:
    path = f"{RESOURCE}/resourceslices"
    assert _groups_in(await ApiServer().ask("POST", path, _counting_slice("g"))) is None
    server = ApiServer(features=frozenset({"DRADeviceCompatibilityGroups"}))
    one = await server.ask("POST", path, _counting_slice("g"))
    assert _groups_in(one) == ["g"]
    # With the gate off, a slice with groups may change them, but cannot add them again.
    server.cluster.features = frozenset()
    for groups, kept in ((["h"], ["h"]), ([], None), (["g"], None)):
        one["spec"]["devices"] = _counting_slice(*groups)["spec"]["devices"]
        one = await server.ask("PUT", f"{path}/s", one)
        assert _groups_in(one) == kept
