from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from mooring.apiserver.refusals import Refusal
from mooring.apiserver.service_addresses import prepare
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


def _service(**spec: Any) -> dict[str, Any]:
    # A copy: what is prepared is changed.
    spec = copy.deepcopy({"ports": [{"port": 80}], **spec})
    return {"metadata": {"name": "s", "uid": "s"}, "spec": spec}


def prepared(
    spec: dict[str, Any], old: dict[str, Any] | None = None, *others: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """Return the spec of a service with its addresses and ports."""
    server = ApiServer()
    for i, other in enumerate(others):
        metadata = {"name": f"o{i}", "uid": f"o{i}"}
        server.store.put("/services", f"default/o{i}", {"metadata": metadata, "spec": other})
    service = _service(**spec)
    prepare(server.cluster, service, None if old is None else _service(**old), **more)
    found: dict[str, Any] = service["spec"]
    return found


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an address that is taken": (
        {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]},
        {"clusterIP": "10.0.0.9"},
        'spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: provided IP '
        "is already allocated",
    ),
    "an address elsewhere": (
        {"clusterIP": "11.0.0.9", "clusterIPs": ["11.0.0.9"]},
        {},
        "failed to allocate IP 11.0.0.9: the provided network does not match the current range",
    ),
    "the last address of the range": (
        {"clusterIP": "10.0.0.255", "clusterIPs": ["10.0.0.255"]},
        {},
        "the provided network does not match the current range",
    ),
    "addresses without the first": (
        {"clusterIPs": ["x"]},
        {},
        "must be empty when `clusterIP` is not specified",
    ),
    "addresses that disagree": (
        {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.8"]},
        {},
        "first value must match `clusterIP`",
    ),
    "two addresses of one family": (
        {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "10.0.0.8"]},
        {},
        "may specify no more than one IP for each IP family",
    ),
    "both families": (
        {"ipFamilyPolicy": "RequireDualStack"},
        {},
        "this cluster is not configured for dual-stack services",
    ),
    "the other family": ({"ipFamilies": ["IPv6"]}, {}, "not configured on this cluster"),
    "an unknown family": ({"ipFamilies": ["IPv5"]}, {}, 'Unsupported value: "IPv5"'),
    "a family twice": ({"ipFamilies": ["IPv4", "IPv4"]}, {}, 'Duplicate value: "IPv4"'),
    "an unknown policy": ({"ipFamilyPolicy": "Some"}, {}, 'Unsupported value: "Some"'),
    "two families in one stack": (
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
        {},
        "must be 'RequireDualStack' or 'PreferDualStack'",
    ),
    "an address of another family": (
        {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "ipFamilies": ["IPv6"]},
        {},
        "expected an IPv6 value as indicated by `ipFamilies[0]`",
    ),
    "a port elsewhere": (
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
        {},
        "provided port is not in the valid range. The range of valid ports is 30000-32767",
    ),
    "a port of health checks elsewhere": (
        {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 80},
        {},
        "failed to allocate requested HealthCheck NodePort 80: provided port is not in the valid",
    ),
}


@pytest.mark.parametrize(("spec", "other", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_given(spec: dict[str, Any], other: dict[str, Any], message: str) -> None:
    with pytest.raises(Refusal) as refused:
        prepared(spec, None, other)
    assert message in str(refused.value)


def test_a_dry_run_takes_nothing() -> None:
    found = prepared({"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}, dry_run=True)
    assert [one["nodePort"] for one in found["ports"]] == [32769, 32770]
    with pytest.raises(Refusal, match=r"is not in the valid range. The range of valid IPs is"):
        prepared({"clusterIP": "11.0.0.9", "clusterIPs": ["11.0.0.9"]}, dry_run=True)
    taken = {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"]}
    assert prepared(taken, None, taken, dry_run=True)["clusterIP"] == "10.0.0.9"


def test_headless_services_without_a_selector_are_of_both_families() -> None:
    found = prepared({"clusterIP": "None"})
    assert found["clusterIPs"] == ["None"]
    assert (found["ipFamilyPolicy"], found["ipFamilies"]) == ("RequireDualStack", ["IPv4", "IPv6"])
    single = prepared({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"})
    assert single["ipFamilies"] == ["IPv4"]
    chosen = prepared({"clusterIP": "None", "selector": {"a": "b"}})
    assert (chosen["ipFamilyPolicy"], chosen["ipFamilies"]) == ("SingleStack", ["IPv4"])


def test_a_name_elsewhere_has_no_address() -> None:
    assert "clusterIP" not in prepared({"type": "ExternalName"})


def test_protocols_of_a_port_share_the_port_of_nodes() -> None:
    ports = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "nodePort": 30053}]
    found = prepared({"type": "NodePort", "ports": ports})
    assert [one["nodePort"] for one in found["ports"]] == [30053, 30053]


def test_a_balancer_may_do_without_ports_of_nodes() -> None:
    found = prepared({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False})
    assert "nodePort" not in found["ports"][0]


HEALTH = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}


def test_a_port_of_health_checks() -> None:
    port = prepared(HEALTH)["healthCheckNodePort"]
    assert 30000 <= port < 32768
    kept = prepared(HEALTH, HEALTH | {"healthCheckNodePort": 31000, "clusterIP": "10.0.0.9"})
    assert kept["healthCheckNodePort"] == 31000
    given = HEALTH | {"healthCheckNodePort": 31000}
    assert prepared(given)["healthCheckNodePort"] == 31000
    with pytest.raises(Refusal, match="provided port is already allocated"):
        prepared(given, None, {"healthCheckNodePort": 31000})


BEFORE = {
    "type": "LoadBalancer",
    "clusterIP": "10.0.0.9",
    "clusterIPs": ["10.0.0.9"],
    "externalTrafficPolicy": "Local",
    "healthCheckNodePort": 31000,
    "allocateLoadBalancerNodePorts": True,
    "ports": [{"name": "a", "port": 80, "nodePort": 30080}],
}


def test_a_service_keeps_its_address_and_its_ports() -> None:
    change = {
        "type": "LoadBalancer",
        "ports": [{"name": "a", "port": 81}, {"name": "b", "port": 82}],
    }
    found = prepared(change, BEFORE)
    assert found["clusterIP"] == "10.0.0.9"
    first, second = found["ports"]
    assert first["nodePort"] == 30080 != second["nodePort"]


def test_fields_of_an_earlier_type_go() -> None:
    plain = {**BEFORE, "type": "ClusterIP", "ports": [{"name": "a", "port": 80, "nodePort": 30080}]}
    found = prepared(plain, BEFORE)
    assert found["ports"] == [{"name": "a", "port": 80}]
    for name in ("externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts"):
        assert name not in found
    named = prepared({**BEFORE, "type": "ExternalName"}, BEFORE)
    assert "clusterIP" not in named and "clusterIPs" not in named
    changed = prepared({**plain, "externalTrafficPolicy": "Cluster"}, BEFORE)
    assert changed["externalTrafficPolicy"] == "Cluster"


def test_a_service_that_loses_its_balancer_loses_its_addresses() -> None:
    server = ApiServer()
    service = _service(**{**BEFORE, "type": "ClusterIP"})
    service["status"] = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    prepare(server.cluster, service, _service(**BEFORE))
    assert service["status"] == {"loadBalancer": {}}
