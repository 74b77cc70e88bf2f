from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.defaults.pods import image_tag, pull_policy
from tests.apiserver.defaults.objects import defaulted


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("img", "Always"),
        ("img:latest", "Always"),
        ("img:1", "IfNotPresent"),
        ("host:5000/img", "Always"),
        ("host:5000/img:1", "IfNotPresent"),
        ("img@sha256:abc", "IfNotPresent"),
    ],
)
def test_images_are_pulled_by_their_tag(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


def test_a_pod_asks_for_what_it_is_limited_to() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}
    pod = defaulted("v1", "Pod", spec={"containers": [container]})
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    assert pod["spec"]["enableServiceLinks"] is True


def test_the_template_of_a_workload_does_not() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}
    spec = {"template": {"spec": {"containers": [container]}}}
    found = defaulted("apps/v1", "Deployment", spec=spec)["spec"]["template"]["spec"]
    assert "requests" not in found["containers"][0]["resources"]
    assert "enableServiceLinks" not in found


def test_ports_of_the_host_are_those_of_the_container() -> None:
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    pod = defaulted("v1", "Pod", spec={"hostNetwork": True, "containers": [container]})
    port = pod["spec"]["containers"][0]["ports"][0]
    assert port == {"containerPort": 80, "protocol": "TCP", "hostPort": 80}


def test_an_empty_probe_is_completed_too() -> None:
    container = {"name": "c", "image": "i", "livenessProbe": {}}
    pod = defaulted("v1", "Pod", spec={"containers": [container]})
    assert pod["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] == 10


def _pod(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    given = {"containers": [{"name": "c", "image": "i"}], **spec}
    return defaulted("v1", "Pod", spec=given, status=status or {})


def test_a_plain_pod() -> None:
    assert _pod()["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {},
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "enableServiceLinks": True,
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    }


VOLUMES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a volume without a source": (
        {},
        {
            "name": "v",
            "emptyDir": {},
        },
    ),
    "an image": (
        {"image": {"reference": "i"}},
        {
            "name": "v",
            "image": {
                "reference": "i",
                "pullPolicy": "Always",
            },
        },
    ),
    "an image with a tag": (
        {"image": {"reference": "i:1"}},
        {
            "name": "v",
            "image": {
                "reference": "i:1",
                "pullPolicy": "IfNotPresent",
            },
        },
    ),
    "a secret": (
        {"secret": {"secretName": "s"}},
        {
            "name": "v",
            "secret": {
                "secretName": "s",
                "defaultMode": 420,
            },
        },
    ),
    "a config map with a mode": (
        {"configMap": {"name": "m", "defaultMode": 256}},
        {
            "name": "v",
            "configMap": {
                "name": "m",
                "defaultMode": 256,
            },
        },
    ),
    "a path on the node": (
        {"hostPath": {"path": "/"}},
        {
            "name": "v",
            "hostPath": {
                "path": "/",
                "type": "",
            },
        },
    ),
    "a token": (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {
            "name": "v",
            "projected": {
                "sources": [
                    {
                        "serviceAccountToken": {
                            "path": "t",
                            "expirationSeconds": 3600,
                        },
                    }
                ],
                "defaultMode": 420,
            },
        },
    ),
    "a field": (
        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {
            "name": "v",
            "downwardAPI": {
                "items": [
                    {
                        "path": "p",
                        "fieldRef": {
                            "fieldPath": "metadata.name",
                            "apiVersion": "v1",
                        },
                    }
                ],
                "defaultMode": 420,
            },
        },
    ),
}


@pytest.mark.parametrize(("given", "expected"), VOLUMES.values(), ids=VOLUMES)
def test_volumes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = _pod(volumes=[{"name": "v", **given}])["spec"]["volumes"]
    assert found == expected


PROBES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a request": (
        {"httpGet": {"port": 80}},
        {
            "httpGet": {
                "port": 80,
                "path": "/",
                "scheme": "HTTP",
            },
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    ),
    "a service": (
        {"grpc": {"port": 80}},
        {
            "grpc": {
                "port": 80,
                "service": "",
            },
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    ),
    "numbers that are given": (
        {"exec": {"command": ["a"]}, "periodSeconds": 5},
        {
            "exec": {
                "command": ["a"],
            },
            "periodSeconds": 5,
            "timeoutSeconds": 1,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
    ),
}


@pytest.mark.parametrize(("given", "expected"), PROBES.values(), ids=PROBES)
def test_probes(given: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = _pod(containers=[{"name": "c", "image": "i", "livenessProbe": given}])["spec"][
        "containers"
    ]
    assert found["livenessProbe"] == expected


def test_an_account_has_two_names() -> None:
    for given in ({"serviceAccountName": "a"}, {"serviceAccount": "a"}):
        spec = _pod(**given)["spec"]
        assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("a", "a")


def test_a_negative_grace_period_is_one_second() -> None:
    assert _pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1


ADDRESSES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the first of a list": (
        {"podIPs": [{"ip": "1"}, {"ip": "2"}]},
        {"podIP": "1", "podIPs": [{"ip": "1"}, {"ip": "2"}]},
    ),
    "a list of the first": ({"podIP": "1"}, {"podIP": "1", "podIPs": [{"ip": "1"}]}),
    "a list that disagrees": (
        {"podIP": "1", "podIPs": [{"ip": "2"}]},
        {"podIP": "1", "podIPs": [{"ip": "1"}]},
    ),
}


@pytest.mark.parametrize(("given", "expected"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _pod(given)["status"] == expected


RESOURCES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "limits are requests": (
        {"limits": {"cpu": "2"}},
        {},
        {
            "limits": {
                "cpu": "2",
            },
            "requests": {
                "cpu": "2",
            },
        },
    ),
    "requests of the containers": (
        {"limits": {"cpu": "2"}},
        {"requests": {"cpu": "1"}},
        {
            "limits": {
                "cpu": "2",
            },
            "requests": {
                "cpu": "1",
            },
        },
    ),
    "a negative request is left to validation": (
        {"limits": {"cpu": "2"}},
        {"requests": {"cpu": "-1"}},
        {
            "limits": {
                "cpu": "2",
            },
            "requests": {
                "cpu": "-1",
            },
        },
    ),
}


@pytest.mark.parametrize(("whole", "own", "expected"), RESOURCES.values(), ids=RESOURCES)
def test_resources_of_a_whole_pod(
    whole: dict[str, Any], own: dict[str, Any], expected: dict[str, Any]
) -> None:
    spec = _pod(resources=whole, containers=[{"name": "c", "image": "i", "resources": own}])["spec"]
    assert spec["resources"] == expected


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("img", "latest"),
        ("host:5000/img", "latest"),
        ("host:5000/img:1.2", "1.2"),
        ("img@sha256:" + "a" * 32, ""),
        ("img:1@sha256:" + "a" * 32, "1"),
        ("", ""),
        ("A B", ""),
        ("img:", ""),
    ],
)
def test_tags_of_images(image: str, tag: str) -> None:
    assert image_tag(image) == tag
