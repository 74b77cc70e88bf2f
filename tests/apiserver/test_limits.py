from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.limits import check_claim, check_pod, give_defaults, pod_amounts
from mooring.apiserver.refusals import Refusal
from tests.apiserver.api_server import PODS, ApiServer, make, pod, refusal


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
    assert "maximum cpu usage per Container is 3" in await refusal(
        server, pod("q", containers=[big])
    )


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
    assert "maximum cpu usage per Pod is 1, but limit is 1200m" in await refusal(
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


def _limited(*limits: dict[str, Any]) -> ApiServer:
    server = ApiServer()
    obj = {"metadata": {"name": "l", "namespace": "default"}, "spec": {"limits": list(limits)}}
    server.store.put("/limitranges", "default/l", obj)
    return server


def _pod(*resources: dict[str, Any], **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{i}", "resources": one} for i, one in enumerate(resources)]
    metadata = {"name": "p", "namespace": "default"}
    return {"metadata": metadata, "spec": {"containers": containers, **spec}}


def test_what_was_filled_in_is_written_down() -> None:
    limit = {"default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}}
    server = _limited({"type": "Container", **limit})
    made = _pod({"limits": {"memory": "2Gi"}}, initContainers=[{"name": "i"}])
    give_defaults(server.cluster, made)
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"memory": "2Gi", "cpu": "2"},
        "requests": {"cpu": "1"},
    }
    note = made["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note == (
        "LimitRanger plugin set: cpu request for container c0; cpu limit for container c0; cpu "
        "request for init container i; cpu, memory limit for init container i"
    )
    again = _pod({"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "1"}})
    give_defaults(server.cluster, again)
    assert "annotations" not in again["metadata"]


BOUNDS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "within the bounds": (
        {"min": {"cpu": "1"}, "max": {"cpu": "3"}, "maxLimitRequestRatio": {"cpu": "2"}},
        {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
        "",
    ),
    "no request": (
        {"min": {"cpu": "1"}},
        {},
        "minimum cpu usage per Container is 1.  No request is specified",
    ),
    "a small request": (
        {"min": {"cpu": "1"}},
        {"requests": {"cpu": "500m"}},
        "minimum cpu usage per Container is 1, but request is 500m",
    ),
    "a small limit": (
        {"min": {"cpu": "1"}},
        {"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}},
        "minimum cpu usage per Container is 1, but limit is 500m",
    ),
    "no limit": (
        {"max": {"cpu": "1"}},
        {},
        "maximum cpu usage per Container is 1.  No limit is specified",
    ),
    "a large limit": (
        {"max": {"cpu": "1"}},
        {"limits": {"cpu": "2"}},
        "maximum cpu usage per Container is 1, but limit is 2",
    ),
    "a large request": (
        {"max": {"cpu": "1"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
        "maximum cpu usage per Container is 1, but request is 2",
    ),
    "a ratio of nothing": (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        {"limits": {"cpu": "1"}},
        "cpu max limit to request ratio per Container is 2, but no request is specified or request "
        "is 0",
    ),
    "a large ratio": (
        {"maxLimitRequestRatio": {"cpu": "2"}},
        {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
        "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
    ),
}


@pytest.mark.parametrize(("limit", "resources", "why"), BOUNDS.values(), ids=BOUNDS)
def test_bounds_of_containers(limit: dict[str, Any], resources: dict[str, Any], why: str) -> None:
    server = _limited({"type": "Container", **limit})
    if not why:
        check_pod(server.cluster, _pod(resources))
        return
    with pytest.raises(Refusal) as refused:
        check_pod(server.cluster, _pod(resources))
    assert str(refused.value) == f'pods "p" is forbidden: {why}'


def test_several_problems_are_listed() -> None:
    server = _limited({"type": "Container", "min": {"cpu": "1", "memory": "1"}})
    with pytest.raises(Refusal, match=r"forbidden: \[minimum cpu .*, minimum memory .*\]"):
        check_pod(server.cluster, _pod({}))


CLAIMS: dict[str, tuple[dict[str, str], str]] = {
    "within the bounds": ({"storage": "2Gi"}, ""),
    "too large": ({"storage": "4Gi"}, "maximum storage usage per PersistentVolumeClaim is 3Gi"),
    "too small": ({"storage": "1Mi"}, "minimum storage usage per PersistentVolumeClaim is 1Gi"),
    "nothing": ({}, "No request is specified"),
}


@pytest.mark.parametrize(("requests", "why"), CLAIMS.values(), ids=CLAIMS)
def test_bounds_of_claims(requests: dict[str, str], why: str) -> None:
    limit = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "3Gi"}}
    server = _limited(limit)
    metadata = {"name": "c", "namespace": "default"}
    claim = {"metadata": metadata, "spec": {"resources": {"requests": requests}}}
    if not why:
        check_claim(server.cluster, claim)
        return
    with pytest.raises(Refusal, match=why):
        check_claim(server.cluster, claim)


def test_amounts_of_a_pod() -> None:
    def init(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "i", "resources": {"requests": {"cpu": cpu}}, **more}

    one, two = {"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}

    def cpu(pod: dict[str, Any]) -> str:
        return str(pod_amounts(pod, "requests")["cpu"])

    assert cpu(_pod(one, two)) == "3"
    assert cpu(_pod(one, initContainers=[init("5"), init("2")])) == "5"
    sidecar = init("3", restartPolicy="Always")
    assert cpu(_pod(one, initContainers=[sidecar])) == "4"
    # An init container runs beside the sidecars that were started before it.
    assert cpu(_pod(one, initContainers=[sidecar, init("4")])) == "7"
    assert cpu(_pod(one, resources={"requests": {"cpu": "9"}})) == "9"
