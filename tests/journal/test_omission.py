"""What a journal leaves out of objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.api import CustomResource, Pod, decode_as
from mooring.api.kinds import decode_raw
from mooring.api.workloads import ReplicaSet
from mooring.journal.omission import LAST_APPLIED, OMITTED, encode_object

SECRET = "s3cret"
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "i",
    "command": [SECRET],
    "args": [SECRET],
    "env": [{"name": "A", "value": SECRET}],
    "envFrom": [{"secretRef": {"name": SECRET}}],
    "livenessProbe": {"exec": {"command": [SECRET]}},
    "readinessProbe": {"exec": {"command": [SECRET]}},
    "startupProbe": {"exec": {"command": [SECRET]}},
    "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    "resources": {"requests": {"cpu": "1"}},
}
SPEC: dict[str, Any] = {
    "nodeName": "n",
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
}
METADATA = {"name": "x", "annotations": {LAST_APPLIED: SECRET, "kept": "yes"}}
LEFT = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}


def encoded(obj: Any) -> Any:
    return json.loads(bytes(encode_object(obj)))


def test_everything_that_is_left_out_is_in_the_example() -> None:
    assert CONTAINER.keys() >= OMITTED


def test_of_a_pod_the_rest_is_kept() -> None:
    found = encoded(decode_as({"metadata": METADATA, "spec": SPEC}, Pod))
    assert found["metadata"] == {"name": "x", "annotations": {"kept": "yes"}}
    assert found["spec"] == {
        "nodeName": "n",
        "containers": [LEFT],
        "initContainers": [LEFT],
        "ephemeralContainers": [LEFT],
    }


def test_a_pod_that_has_nothing_of_it_is_encoded_as_it_is() -> None:
    pod = decode_as({"metadata": {"name": "x"}, "spec": {"containers": [LEFT]}}, Pod)
    assert decode_as(bytes(encode_object(pod)), Pod) == pod


def test_the_template_of_a_workload_is_treated_like_a_pod() -> None:
    template = {"metadata": METADATA, "spec": SPEC}
    found = encoded(decode_as({"metadata": METADATA, "spec": {"template": template}}, ReplicaSet))
    assert SECRET not in json.dumps(found)
    assert found["spec"]["template"]["spec"]["containers"] == [LEFT]
    assert found["spec"]["template"]["metadata"]["annotations"] == {"kept": "yes"}


@pytest.mark.parametrize("nested", [False, True], ids=["directly", "within a list"])
def test_a_custom_resource_may_hold_templates_anywhere(nested: bool) -> None:
    template: Any = {"metadata": METADATA, "spec": SPEC}
    raw = {
        "apiVersion": "example.com/v1",
        "kind": "Crew",
        "metadata": METADATA,
        "spec": {"roles": [template] if nested else template, "env": "kept"},
    }
    found = decode_raw(raw)
    assert isinstance(found, CustomResource)
    left = encoded(found)
    assert SECRET not in json.dumps(left)
    assert left["spec"]["env"] == "kept"
    assert found.raw == raw
