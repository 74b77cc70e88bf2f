from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.apiserver import metrics_api
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.resource_table import Served
from tests.apiserver.api_server import ApiServer


def _server(*pods: dict[str, Any]) -> ApiServer:
    server = ApiServer()
    metrics_api.serve(server.cluster.catalogue)
    server.store.put("/nodes", "n", {"metadata": {"name": "n", "labels": {"a": "b"}}})
    for pod in pods:
        server.store.put("/pods", f"default/{pod['metadata']['name']}", pod)
    return server


def _pod(name: str, phase: str = "Running", node: str = "n", *amounts: dict[str, str]) -> Any:
    containers = [
        {"name": f"c{i}", "resources": {"requests": one}} for i, one in enumerate(amounts)
    ]
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"nodeName": node, "containers": containers},
        "status": {"phase": phase},
    }


def _read(
    server: ApiServer, resource: str, verb: str = "list", name: str = "", **query: str
) -> Any:
    served = server.cluster.catalogue.get("metrics.k8s.io", "v1beta1", resource)
    assert isinstance(served, Served)
    namespace = "default" if resource == "pods" else ""
    info = RequestInfo(verb, "", served.group, served.version, resource, "", namespace, name)
    request = ApiRequest("GET", "", {key: [value] for key, value in query.items()}, {})
    return json.loads(metrics_api.read(server.cluster, request, info, served).body)


def test_a_pod_uses_what_it_asks_for() -> None:
    server = _server(_pod("p", "Running", "n", {"cpu": "1500m", "memory": "1Gi"}, {}))
    found = _read(server, "pods", "get", "p")
    assert (found["kind"], found["apiVersion"]) == ("PodMetrics", "metrics.k8s.io/v1beta1")
    assert found["containers"] == [
        {"name": "c0", "usage": {"cpu": "1500m", "memory": "1Gi"}},
        {"name": "c1", "usage": {"cpu": "0", "memory": "0"}},
    ]
    assert found["window"] == "30s"


def test_a_node_uses_what_its_pods_use() -> None:
    server = _server(
        _pod("a", "Running", "n", {"cpu": "1", "memory": "1Gi"}),
        _pod("b", "Running", "n", {"cpu": "500m"}),
        _pod("c", "Pending", "n", {"cpu": "7"}),
        _pod("d", "Running", "m", {"cpu": "7"}),
    )
    found = _read(server, "nodes", "get", "n")
    assert found["usage"] == {"cpu": "1500m", "memory": "1Gi"}
    assert found["metadata"]["labels"] == {"a": "b"}


def test_a_list_has_the_selected_pods_that_run() -> None:
    server = _server(_pod("a"), _pod("b"), _pod("c", "Succeeded"))
    found = _read(server, "pods")
    assert found["kind"] == "PodMetricsList"
    assert [one["metadata"]["name"] for one in found["items"]] == ["a", "b"]
    one = _read(server, "pods", labelSelector="app=b")
    assert [item["metadata"]["name"] for item in one["items"]] == ["b"]


@pytest.mark.parametrize("name", ["none", "done"], ids=["no pod", "a pod that does not run"])
def test_what_has_no_metrics(name: str) -> None:
    server = _server(_pod("done", "Succeeded"))
    with pytest.raises(Refusal, match=f'pods.metrics.k8s.io "{name}" not found'):
        _read(server, "pods", "get", name)


def test_pods_are_read_once_for_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    server = _server(_pod("p", "Running", "n3", {"cpu": "1"}))
    for number in range(5):
        server.store.put("/nodes", f"n{number}", {"metadata": {"name": f"n{number}"}})
    read: list[str] = []
    items = type(server.store).items

    def counted(store: Any, place: str, *more: Any) -> Any:
        read.append(place)
        return items(store, place, *more)

    monkeypatch.setattr(type(server.store), "items", counted)
    found = {
        one["metadata"]["name"]: one["usage"]["cpu"] for one in _read(server, "nodes")["items"]
    }
    assert found == {"n": "0", "n0": "0", "n1": "0", "n2": "0", "n3": "1", "n4": "0"}
    assert sorted(read) == ["/nodes", "/pods"]
