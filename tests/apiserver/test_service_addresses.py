from __future__ import annotations

import json

from tests.apiserver.api_server import ApiServer


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
