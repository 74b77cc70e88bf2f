from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.defaults.objects import defaulted


def test_text_of_a_secret_becomes_data() -> None:
    secret = defaulted("v1", "Secret", data={"a": "YQ=="}, stringData={"a": "b"})
    assert secret["data"] == {"a": "Yg=="}
    assert "stringData" not in secret


SERVICES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a service": (
        {"ports": [{"port": 80}]},
        {
            "ports": [
                {
                    "port": 80,
                    "targetPort": 80,
                    "protocol": "TCP",
                }
            ],
            "sessionAffinity": "None",
            "type": "ClusterIP",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "a service with a port by name": (
        {"ports": [{"port": 80, "targetPort": "web"}]},
        {
            "ports": [
                {
                    "port": 80,
                    "targetPort": "web",
                    "protocol": "TCP",
                }
            ],
            "sessionAffinity": "None",
            "type": "ClusterIP",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "ports of nodes": (
        {"type": "NodePort"},
        {
            "type": "NodePort",
            "sessionAffinity": "None",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "external addresses": (
        {"externalIPs": ["1.2.3.4"]},
        {
            "externalIPs": ["1.2.3.4"],
            "sessionAffinity": "None",
            "type": "ClusterIP",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "a balancer": (
        {"type": "LoadBalancer"},
        {
            "type": "LoadBalancer",
            "sessionAffinity": "None",
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "allocateLoadBalancerNodePorts": True,
        },
    ),
    "a name elsewhere": (
        {"type": "ExternalName"},
        {
            "type": "ExternalName",
            "sessionAffinity": "None",
        },
    ),
    "affinity": (
        {"sessionAffinity": "ClientIP"},
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {
                "clientIP": {
                    "timeoutSeconds": 10800,
                },
            },
            "type": "ClusterIP",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "affinity with its time": (
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}},
        },
        {
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {
                "clientIP": {
                    "timeoutSeconds": 5,
                },
            },
            "type": "ClusterIP",
            "internalTrafficPolicy": "Cluster",
        },
    ),
    "the time of no affinity is dropped": (
        {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        {
            "sessionAffinity": "None",
            "type": "ClusterIP",
            "internalTrafficPolicy": "Cluster",
        },
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SERVICES.values(), ids=SERVICES)
def test_services(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert defaulted("v1", "Service", spec=spec)["spec"] == expected


def test_an_address_of_a_balancer_has_a_mode() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "h"}]}}
    found = defaulted("v1", "Service", spec={"type": "LoadBalancer"}, status=status)
    assert found["status"]["loadBalancer"]["ingress"] == [
        {"ip": "1.2.3.4", "ipMode": "VIP"},
        {"hostname": "h"},
    ]


def test_a_replication_controller_takes_the_labels_of_its_pods() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}}
    found = defaulted("v1", "ReplicationController", spec={"template": template})
    assert found["spec"]["selector"] == found["metadata"]["labels"] == {"a": "b"}
    own = {"template": template, "selector": {"c": "d"}}
    found = defaulted("v1", "ReplicationController", spec=own)
    assert found["spec"]["selector"] == {"c": "d"}


def test_phases_and_modes() -> None:
    volume = defaulted("v1", "PersistentVolume", spec={})
    assert volume["status"]["phase"] == "Pending"
    assert volume["spec"] == {
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    }
    claim = defaulted("v1", "PersistentVolumeClaim", spec={})
    assert (claim["status"]["phase"], claim["spec"]["volumeMode"]) == ("Pending", "Filesystem")
    namespace = defaulted("v1", "Namespace")
    assert namespace["status"] == {"phase": "Active"}
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert defaulted("v1", "Secret")["type"] == "Opaque"


def test_ports_of_endpoints_are_of_tcp() -> None:
    found = defaulted("v1", "Endpoints", subsets=[{"ports": [{"port": 80}]}])
    assert found["subsets"][0]["ports"][0]["protocol"] == "TCP"


RANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the first of a list": ({"podCIDRs": ["a", "b"]}, {"podCIDR": "a", "podCIDRs": ["a", "b"]}),
    "a list of the first": ({"podCIDR": "a"}, {"podCIDR": "a", "podCIDRs": ["a"]}),
    "a list that disagrees": (
        {"podCIDR": "a", "podCIDRs": ["b"]},
        {"podCIDR": "a", "podCIDRs": ["a"]},
    ),
    "a source that kubelets no longer read": ({"configSource": {}}, {}),
}


@pytest.mark.parametrize(("given", "expected"), RANGES.values(), ids=RANGES)
def test_specs_of_nodes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert defaulted("v1", "Node", spec=given)["spec"] == expected


LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a maximum is the default and the request": (
        {"max": {"cpu": "2"}},
        {
            "type": "Container",
            "max": {
                "cpu": "2",
            },
            "default": {
                "cpu": "2",
            },
            "defaultRequest": {
                "cpu": "2",
            },
        },
    ),
    "a minimum is the request": (
        {"min": {"cpu": "1"}},
        {
            "type": "Container",
            "min": {
                "cpu": "1",
            },
            "defaultRequest": {
                "cpu": "1",
            },
        },
    ),
    "a default is the request": (
        {"min": {"cpu": "1"}, "default": {"cpu": "2"}},
        {
            "type": "Container",
            "min": {
                "cpu": "1",
            },
            "default": {
                "cpu": "2",
            },
            "defaultRequest": {
                "cpu": "2",
            },
        },
    ),
    "what is given stays": (
        {"max": {"cpu": "4"}, "defaultRequest": {"cpu": "1"}},
        {
            "type": "Container",
            "max": {
                "cpu": "4",
            },
            "defaultRequest": {
                "cpu": "1",
            },
            "default": {
                "cpu": "4",
            },
        },
    ),
}


@pytest.mark.parametrize(("given", "expected"), LIMITS.values(), ids=LIMITS)
def test_limits_of_containers(given: dict[str, Any], expected: dict[str, Any]) -> None:
    limit = {"type": "Container", **given}
    (found,) = defaulted("v1", "LimitRange", spec={"limits": [limit]})["spec"]["limits"]
    assert found == expected


def test_limits_of_pods_have_no_defaults() -> None:
    limit = {"type": "Pod", "max": {"cpu": "2"}}
    assert defaulted("v1", "LimitRange", spec={"limits": [limit]})["spec"]["limits"] == [limit]
