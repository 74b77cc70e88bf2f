from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.new_pods import prepare_create, prepare_part, prepare_status, qos_class
from tests.apiserver.api_server import PODS, ApiServer, pod


def _spec(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]}


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


QUALITIES: dict[str, tuple[dict[str, Any], str]] = {
    "limits of both resources": (
        _spec({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "1", "memory": "1"}}),
        "Guaranteed",
    ),
    "requests below limits": (
        _spec({"limits": {"cpu": "2", "memory": "1"}, "requests": {"cpu": "1", "memory": "1"}}),
        "Burstable",
    ),
    "one container without limits": (
        _spec({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "1", "memory": "1"}}, {}),
        "Burstable",
    ),
    "requests of nothing": (_spec({"requests": {"cpu": "0"}}), "BestEffort"),
    "other resources do not count": (_spec({"requests": {"acme.io/gpu": "1"}}), "BestEffort"),
    "resources of the whole pod": (
        _spec({})
        | {
            "resources": {
                "limits": {"cpu": "1", "memory": "1"},
                "requests": {"cpu": "1", "memory": "1"},
            }
        },
        "Guaranteed",
    ),
}


@pytest.mark.parametrize(("spec", "expected"), QUALITIES.values(), ids=QUALITIES)
def test_qualities_of_service(spec: dict[str, Any], expected: str) -> None:
    assert qos_class(spec) == expected


def test_a_gated_pod_is_not_scheduled() -> None:
    made: dict[str, Any] = {"metadata": {}, "spec": {"schedulingGates": [{"name": "g"}]}}
    prepare_create(ApiServer().cluster, made)
    (condition,) = made["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")


def test_spreading_takes_label_keys_too() -> None:
    constraint = {"labelSelector": {}, "matchLabelKeys": ["app"]}
    free = {"matchLabelKeys": ["app"]}
    made: dict[str, Any] = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"topologySpreadConstraints": [constraint, free]},
    }
    prepare_create(ApiServer().cluster, made)
    assert constraint["labelSelector"] == {
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]
    }
    assert free == {"matchLabelKeys": ["app"]}


def test_owners_stay_in_a_write_of_the_status() -> None:
    old = {"metadata": {"ownerReferences": [1]}, "status": {"qosClass": "BestEffort"}}
    new: dict[str, Any] = {"metadata": {"ownerReferences": [2]}, "status": {}}
    prepare_status(new, old)
    assert new["metadata"]["ownerReferences"] == [1]
    assert new["status"] == {"qosClass": "BestEffort"}
    prepare_status(new, {"metadata": {}})
    assert "ownerReferences" not in new["metadata"]


def _container(name: str = "c", **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", **more}


PARTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a resize changes resources alone": (
        "resize",
        {"containers": [_container(image="j", resources={"a": 1})], "nodeName": "m"},
        {"containers": [_container(resources={"a": 1})]},
    ),
    "another name is left to validation": (
        "resize",
        {"containers": [_container("d")]},
        {"containers": [_container("d")]},
    ),
    "another number of containers is left to validation": (
        "resize",
        {"containers": [_container(), _container("d")]},
        {"containers": [_container(), _container("d")]},
    ),
    "an ephemeral container is added": (
        "ephemeralcontainers",
        {"containers": [], "ephemeralContainers": [_container("e")]},
        {"containers": [_container()], "ephemeralContainers": [_container("e")]},
    ),
    "no ephemeral container": ("ephemeralcontainers", {}, {"containers": [_container()]}),
}


@pytest.mark.parametrize(("part", "given", "expected"), PARTS.values(), ids=PARTS)
def test_what_a_subresource_may_change(
    part: str, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    old = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [_container()]}}
    new = {"metadata": {"name": "p", "resourceVersion": "5"}, "spec": given}
    prepare_part(new, old, part)
    assert new["spec"] == expected
    assert new["metadata"] == {"name": "p", "labels": {"a": "b"}, "resourceVersion": "5"}
