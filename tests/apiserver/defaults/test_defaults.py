"""Defaults; test_real_server.py compares nearly every kind with a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.defaults.pods import pull_policy
from mooring.apiserver.schema.canonical import canonical
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.schema.table import types
from mooring.apiserver.validation import check_create

ACCEPTED = list(yaml.safe_load_all((Path(__file__).parent / "accepted.yaml").read_text()))


def defaulted(version: str, kind: str, **more: Any) -> dict[str, Any]:
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object({"metadata": {"name": "x"}, **more}, found, kind, version).object
    set_defaults(version, kind, obj)
    return obj


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


def test_text_of_a_secret_becomes_data() -> None:
    secret = defaulted("v1", "Secret", data={"a": "YQ=="}, stringData={"a": "b"})
    assert secret["data"] == {"a": "Yg=="}
    assert "stringData" not in secret


def test_amounts_are_rounded_up_to_thousandths() -> None:
    node = defaulted("v1", "Node", status={"capacity": {"cpu": "0.0001"}})
    assert node["status"] == {
        "capacity": {"cpu": "1m"},
        "allocatable": {"cpu": "1m"},
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": node["status"]["nodeInfo"],
    }


@pytest.mark.parametrize("at", range(len(ACCEPTED)), ids=lambda at: ACCEPTED[at]["kind"])
def test_defaulting_is_done_once_and_leaves_objects_canonical_and_valid(at: int) -> None:
    manifest = ACCEPTED[at]
    version, kind = manifest["apiVersion"], manifest["kind"]
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object(manifest, found, kind, version).object
    obj["metadata"].setdefault("namespace", "default")
    set_defaults(version, kind, obj)
    assert canonical(found, obj) == obj
    again = canonical(found, obj)
    set_defaults(version, kind, again)
    assert again == obj
    if version == "events.k8s.io/v1":
        return  # Events are checked as objects of the core group
    if any(one.kind == kind and one.namespaced for one in types().resources(version)):
        assert check_create(version, kind, obj) == []
