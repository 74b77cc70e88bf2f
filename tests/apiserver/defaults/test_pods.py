from __future__ import annotations

import pytest

from mooring.apiserver.defaults.pods import pull_policy
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
