from __future__ import annotations

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
