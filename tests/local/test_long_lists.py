"""Objects with very long lists: the API server's work is linear in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.apiserver.api_server import MAPS, PODS, ApiServer, pod
from tests.support.growth import assert_linear

FEW = 60
NODE = "/api/v1/nodes"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

#: The entries of this list share one merge key, so a patch cannot distinguish them.
SAME_KEY = "host ports of one container port"

Make = Callable[[int], dict[str, Any]]


def _named(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"n{i}", "image": "a", **more} for i in range(count)]


def _files(count: int) -> dict[str, Any]:
    items = [{"key": f"k{i}", "path": f"p{i}/file"} for i in range(count)]
    return pod("x", volumes=[{"name": "v", "configMap": {"name": "m", "items": items}}])


def _ports(count: int) -> dict[str, Any]:
    ports = [{"containerPort": 80, "hostPort": 1000 + i} for i in range(count)]
    return pod("x", containers=[{"name": "c", "image": "a", "ports": ports}])


def _spread(count: int) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    constraints = [{**constraint, "topologyKey": f"k{i}"} for i in range(count)]
    return pod("x", topologySpreadConstraints=constraints)


def _claims(count: int) -> dict[str, Any]:
    claims = [{"name": f"n{i}", "resourceClaimName": f"c{i}"} for i in range(count)]
    return pod("x", resourceClaims=claims, containers=_named(count))


def _tolerations(count: int) -> dict[str, Any]:
    return pod("x", tolerations=[{"key": f"k{i}", "operator": "Exists"} for i in range(count)])


def _config_map(count: int) -> dict[str, Any]:
    data = {f"k{i}": "v" for i in range(count)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def _node(count: int) -> dict[str, Any]:
    addresses = [{"type": f"T{i}", "address": "a"} for i in range(count)]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "x", "labels": {f"l{i}": "v" for i in range(count)}},
        "status": {"addresses": addresses},
    }


def _storage_class(count: int) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "x"},
        "provisioner": "example.com/a",
        "allowedTopologies": [
            {"matchLabelExpressions": [{"key": f"k{i}", "values": ["a"]}]} for i in range(count)
        ],
    }


KINDS: dict[str, tuple[str, Make]] = {
    "init containers": (PODS, lambda count: pod("x", initContainers=_named(count))),
    "containers": (PODS, lambda count: pod("x", containers=_named(count))),
    "containers and claims": (PODS, _claims),
    "files of a volume": (PODS, _files),
    SAME_KEY: (PODS, _ports),
    "spread constraints": (PODS, _spread),
    "tolerations": (PODS, _tolerations),
    "keys of a config map": (MAPS, _config_map),
    "labels and addresses of a node": (NODE, _node),
    "topologies of a storage class": (STORAGE_CLASSES, _storage_class),
}


class Running:
    """An API server and the event loop for its requests."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._server = ApiServer()

    def ask(self, *request: Any, **more: Any) -> Any:
        """Send a request and return the response; fail if the server refuses it."""
        answer = self._loop.run_until_complete(self._server.ask(*request, **more))
        assert answer.get("status") != "Failure", answer["message"]
        return answer

    def close(self) -> None:
        """Close the event loop."""
        self._loop.close()


@pytest.fixture
def servers() -> Any:
    """Yield a function that creates API servers, which are closed after the test."""
    made: list[Running] = []

    def start() -> Running:
        made.append(Running())
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", KINDS)
def test_creating(kind: str, servers: Callable[[], Running]) -> None:
    path, make = KINDS[kind]

    def prepare(count: int) -> Callable[[], object]:
        server, body = servers(), make(count)
        return lambda: server.ask("POST", path, body)

    assert_linear(prepare, FEW)


@pytest.mark.parametrize("content_type", [STRATEGIC, APPLY])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != SAME_KEY])
def test_patching(kind: str, content_type: str, servers: Callable[[], Running]) -> None:
    path, make = KINDS[kind]

    def prepare(count: int) -> Callable[[], object]:
        server, body = servers(), make(count)
        server.ask("POST", path, body)
        where = f"{path}/x?fieldManager=other{'&force=true' if content_type == APPLY else ''}"
        return lambda: server.ask("PATCH", where, body, content_type=content_type)

    assert_linear(prepare, FEW)


@pytest.mark.parametrize("kind", KINDS)
def test_updating(kind: str, servers: Callable[[], Running]) -> None:
    path, make = KINDS[kind]

    def prepare(count: int) -> Callable[[], object]:
        server = servers()
        made = server.ask("POST", path, make(count))
        made["metadata"].setdefault("labels", {})["more"] = "x"
        return lambda: server.ask("PUT", f"{path}/x", made)

    assert_linear(prepare, FEW)


def test_the_table_of_endpoints_counts_addresses_times_ports(
    servers: Callable[[], Running],
) -> None:
    server = servers()
    addresses = [{"ip": f"10.0.{i // 200}.{i % 200 + 1}"} for i in range(600)]
    ports = [{"name": f"p{i}", "port": i + 1} for i in range(600)]
    body = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": "x"},
        "subsets": [{"addresses": addresses, "ports": ports}],
    }
    server.ask("POST", ENDPOINTS, body)
    shown = server.ask("GET", f"{ENDPOINTS}/x", accept=TABLE)["rows"][0]["cells"][1]
    assert shown == "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1 + 359997 more..."
